import Glibc
import Platform

ProcessMemory.prepare()
exit(Program.main(Array(CommandLine.arguments.dropFirst())))
