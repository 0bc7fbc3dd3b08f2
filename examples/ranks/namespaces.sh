#!/bin/sh
# Machines that are network namespaces of one machine, to try what OpenMPI does over TCP between
# machines, and when one of them is cut off. Each has a host name and an address of its own. Needs
# root and iproute2.
#
#   namespaces.sh up NAME N            N machines, and one from which mpirun starts
#   namespaces.sh run NAME COMMAND …   runs a command there
#   namespaces.sh words NAME N         the words for mpirun by which it uses them
#   namespaces.sh cut NAME I           unplugs machine I, from 1 on
#   namespaces.sh mend NAME I          plugs it in again
#   namespaces.sh slow NAME I WORDS …  delays and loses packets of it: `delay 5ms loss 1%` (tc netem)
#   namespaces.sh down NAME            removes all of them
#
# NAME is at most eight letters: names of interfaces are short.
set -eu
self=$(readlink -f "$0")
verb=$1
name=$2
net=10.77.$(printf %s "$name" | cksum | awk '{print 1 + $1 % 250}')

case $verb in
up)
    ip link add "br-$name" type bridge
    ip link set "br-$name" up
    for i in $(seq 0 "$3"); do
        ip netns add "$name-$i"
        ip link add "$name-$i" type veth peer name eth0 netns "$name-$i"
        ip link set "$name-$i" master "br-$name" up
        ip -n "$name-$i" addr add "$net.$((i + 1))/24" dev eth0
        ip -n "$name-$i" link set eth0 up
        ip -n "$name-$i" link set lo up
    done
    ;;
10.77.*)
    # How mpirun calls it in place of ssh: an address, and a command.
    i=$((${verb##*.} - 1))
    name=$(hostname)
    name=${name%-*}
    shift
    exec ip netns exec "$name-$i" unshare --uts sh -c "hostname $name-$i; $*"
    ;;
run)
    shift 2
    exec ip netns exec "$name-0" unshare --uts sh -c "hostname $name-0; exec \"\$@\"" sh "$@"
    ;;
words)
    hosts=
    for i in $(seq 1 "$3"); do
        hosts=$hosts${hosts:+,}$net.$((i + 1)):1
    done
    echo "--mca plm rsh --mca plm_rsh_agent $self --mca plm_rsh_no_tree_spawn 1 --novm" \
        "--mca pml ob1 --mca btl tcp,self" \
        "--mca oob_tcp_if_include $net.0/24 --mca btl_tcp_if_include $net.0/24 --host $hosts"
    ;;
cut) ip link set "$name-$3" down ;;
mend) ip link set "$name-$3" up ;;
slow)
    link=$name-$3
    shift 3
    tc qdisc replace dev "$link" root netem "$@"
    ;;
down)
    for place in $(ip netns list | awk -v name="$name-" 'index($1, name) == 1 { print $1 }'); do
        ip netns pids "$place" | xargs -r kill -9 2> /dev/null || true
        ip netns del "$place"
    done
    ip link del "br-$name" 2> /dev/null || true
    ;;
*)
    sed -n '2,15s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
