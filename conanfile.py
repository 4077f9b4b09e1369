# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeToolchain
from conan.tools.files import copy

required_conan_version = ">=2.5"


class BallastConan(ConanFile):
    name = "ballast"
    description = "Plans balanced training of large language and vision-language models"
    license = "Apache-2.0"
    topics = ("bin-packing", "training", "llm", "load-balancing", "header-only")
    settings = "os", "arch", "compiler", "build_type"
    options = {
        "calibrate": [True, False],  # Eigen, and the target ballast::calibrate
        "compiled": [True, False],  # the static library of ballast::compiled
    }
    default_options = {"calibrate": False, "compiled": False}
    exports = "include/ballast/core/version.hpp"  # set_version reads it
    exports_sources = "include/*", "cuda/include/*", "cmake/*", "CMakeLists.txt", "LICENSE"
    no_copy_source = True

    def set_version(self):
        text = (Path(self.recipe_folder) / "include/ballast/core/version.hpp").read_text()
        self.version = ".".join(re.findall(r"#define BALLAST_VERSION_\w+ (\d+)", text))

    def requirements(self):
        if self.options.calibrate:
            self.requires("eigen/3.4.0")

    def configure(self):
        self.package_type = "static-library" if self.options.compiled else "header-library"

    def package_id(self):
        if not self.info.options.compiled:
            self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def generate(self):
        if self.options.compiled:
            toolchain = CMakeToolchain(self)
            toolchain.cache_variables["BALLAST_BUILD_COMPILED"] = True
            for part in ("TESTS", "BENCHMARKS", "EXAMPLES"):
                toolchain.cache_variables[f"BALLAST_BUILD_{part}"] = False
            toolchain.generate()

    def build(self):
        if self.options.compiled:
            cmake = CMake(self)
            cmake.configure()
            cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))
        for include in ("include", "cuda/include"):
            copy(self, "*", str(Path(self.source_folder) / include), str(Path(self.package_folder) / "include"))
        if self.options.compiled:
            for library in ("libballast_compiled.a", "ballast_compiled.lib"):
                copy(self, library, self.build_folder, str(Path(self.package_folder) / "lib"), keep_path=False)

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        if self.options.compiled:
            self.cpp_info.libdirs = ["lib"]
            self.cpp_info.libs = ["ballast_compiled"]
            self.cpp_info.defines = ["BALLAST_COMPILED"]
            if self.settings.os in ("Linux", "FreeBSD"):
                self.cpp_info.system_libs = ["pthread"]
        self.cpp_info.set_property("cmake_file_name", "ballast")
        self.cpp_info.set_property("cmake_target_name", "ballast::ballast")
        self.cpp_info.set_property("cmake_target_aliases", [f"ballast::{option}" for option in ("calibrate", "compiled") if self.options.get_safe(option)])
