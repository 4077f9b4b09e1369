# SPDX-License-Identifier: Apache-2.0
import re
from pathlib import Path

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.files import copy

required_conan_version = ">=2.5"


class BallastConan(ConanFile):
    name = "ballast"
    description = "Plans balanced training of large language and vision-language models"
    license = "Apache-2.0"
    topics = ("bin-packing", "training", "llm", "load-balancing", "header-only")
    package_type = "header-library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"calibrate": [True, False]}  # Eigen, and the target ballast::calibrate
    default_options = {"calibrate": False}
    exports = "include/ballast/core/version.hpp"  # set_version reads it
    exports_sources = "include/*", "cuda/include/*", "LICENSE"
    no_copy_source = True

    def set_version(self):
        text = (Path(self.recipe_folder) / "include/ballast/core/version.hpp").read_text()
        self.version = ".".join(re.findall(r"#define BALLAST_VERSION_\w+ (\d+)", text))

    def requirements(self):
        if self.options.calibrate:
            self.requires("eigen/3.4.0")

    def package_id(self):
        self.info.clear()

    def validate(self):
        check_min_cppstd(self, 20)

    def package(self):
        copy(self, "LICENSE", self.source_folder, str(Path(self.package_folder) / "licenses"))
        for include in ("include", "cuda/include"):
            copy(self, "*", str(Path(self.source_folder) / include), str(Path(self.package_folder) / "include"))

    def package_info(self):
        self.cpp_info.bindirs = []
        self.cpp_info.libdirs = []
        self.cpp_info.set_property("cmake_file_name", "ballast")
        self.cpp_info.set_property("cmake_target_name", "ballast::ballast")
        if self.options.calibrate:
            self.cpp_info.set_property("cmake_target_aliases", ["ballast::calibrate"])
