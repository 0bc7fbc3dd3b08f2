# find_package(roving): the targets roving::roving (shared) and roving::static.

get_filename_component(_roving_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
find_package(Threads REQUIRED)

if(NOT TARGET roving::roving)
  add_library(roving::roving SHARED IMPORTED)
  set_target_properties(roving::roving PROPERTIES
    IMPORTED_LOCATION "${_roving_prefix}/lib/libroving_c${CMAKE_SHARED_LIBRARY_SUFFIX}"
    INTERFACE_INCLUDE_DIRECTORIES "${_roving_prefix}/include")

  add_library(roving::static STATIC IMPORTED)
  set_target_properties(roving::static PROPERTIES
    IMPORTED_LOCATION "${_roving_prefix}/lib/libroving_c.a"
    INTERFACE_INCLUDE_DIRECTORIES "${_roving_prefix}/include"
    INTERFACE_LINK_LIBRARIES "Threads::Threads;${CMAKE_DL_LIBS};m")
endif()
