import Glibc

exit(SimulatedCollarProgram.run(Array(CommandLine.arguments.dropFirst())))
