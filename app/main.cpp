// SPDX-License-Identifier: MIT
#include "app/command_line.h"

int main(int argc, char** argv) { return tapemeasure::run_command_line(argc, argv); }
