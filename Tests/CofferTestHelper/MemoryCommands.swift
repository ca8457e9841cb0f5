import Foundation

/// Joins a control group with less memory than a file has, and writes and reads the file until it is killed, so that
/// the kernel has to reclaim memory all the time: "stall PROCESSES FILE".
func runMemory(_ command: String, _ processes: String, _ rest: [String]) throws -> Bool {
  guard command == "stall" else { return false }
  let group = open(processes, O_WRONLY)
  let number = "\(getpid())"
  guard group >= 0, write(group, number, number.utf8.count) > 0 else { throw CocoaError(.fileWriteNoPermission) }
  let file = open(rest[0], O_RDWR | O_CREAT, 0o600)
  var block = [UInt8](repeating: 7, count: 1 << 20)
  alarm(120)
  while true {
    for index in 0..<200 { pwrite(file, block, block.count, off_t(index << 20)) }
    for index in 0..<200 { pread(file, &block, block.count, off_t(index << 20)) }
  }
}
