import Glibc
import Platform

/// Holds blocks, frees all but the last, gives memory back, and prints what was resident before and after, in KiB: of all, and of files.
/// Then does some work again, and says what came of it.
func probeMemory() throws {
    ProcessMemory.prepare()
    let storage = try StorageThread()
    let digest = work()
    var blocks = (0..<4_096).map { _ in
        let block = UnsafeMutableRawPointer.allocate(byteCount: 4_000, alignment: 16)
        memset(block, 1, 4_000)
        return block
    }
    // The last one lies above the others, so that the heap cannot simply be cut off at its end.
    guard let last = blocks.popLast() else { fatalError("no block") }
    for block in blocks { block.deallocate() }
    let before = residentPages()
    ProcessMemory.release()
    let after = residentPages()
    let page = sysconf(CInt(_SC_PAGESIZE)) / 1_024
    print("anonymous-before \((before.all - before.files) * page)")
    print("anonymous-after \((after.all - after.files) * page)")
    print("files-before \(before.files * page)")
    print("files-after \(after.files * page)")
    print("same \(work() == digest)")
    last.deallocate()
    storage.stop()
    print("ended 0")
}

private func work() -> [UInt8] {
    let text = (0..<1_000).map { "\($0 * $0)" }.sorted().joined(separator: ",")
    return SHA256.digest(Array(text.utf8))
}

/// Pages resident, and those of files among them, from /proc/self/statm.
private func residentPages() -> (all: Int, files: Int) {
    guard let file = fopen("/proc/self/statm", "r") else { fatalError("no statm") }
    defer { fclose(file) }
    var line = [CChar](repeating: 0, count: 256)
    guard fgets(&line, CInt(line.count), file) != nil else { fatalError("an empty statm") }
    let numbers = String(decoding: line.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self).split(separator: " ").compactMap { Int($0) }
    return (numbers[1], numbers[2])
}
