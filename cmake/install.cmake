# SPDX-FileCopyrightText: 2026 The tally authors
# SPDX-License-Identifier: Apache-2.0

# Install rules: the headers, and a package that find_package(tally) finds.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(tally_package_dir "${CMAKE_INSTALL_DATADIR}/cmake/tally")

install(
    TARGETS tally
    EXPORT tallyTargets
    FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
)
install(EXPORT tallyTargets NAMESPACE tally:: DESTINATION "${tally_package_dir}")

configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/tallyConfig.cmake.in" "${PROJECT_BINARY_DIR}/tallyConfig.cmake"
    INSTALL_DESTINATION "${tally_package_dir}"
)
# A minor version may change the layout of a state while the major one is 0. Headers fit any word size.
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/tallyConfigVersion.cmake" COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT
)
install(
    FILES "${PROJECT_BINARY_DIR}/tallyConfig.cmake" "${PROJECT_BINARY_DIR}/tallyConfigVersion.cmake"
          "${PROJECT_SOURCE_DIR}/cmake/tallyOpenMP.cmake" "${PROJECT_SOURCE_DIR}/cmake/tallyMPI.cmake"
          "${PROJECT_SOURCE_DIR}/cmake/tallyNCCL.cmake"
    DESTINATION "${tally_package_dir}"
)
