// Feeds arbitrary bytes to the decoders of what migrations store: their records and the versions of values. ./run fuzz
// builds and runs it.
//
// With COFFER_FUZZ_CANARY set it fails on purpose, which shows that failures are detected.

import CFuzzer
import CofferCore
import CofferRouter
import Foundation

private let isCanary = ProcessInfo.processInfo.environment["COFFER_FUZZ_CANARY"] != nil
private let key: KeyName = "key"

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
  let bytes = Data(UnsafeBufferPointer(start: start, count: count))
  check(record: bytes)
  // With a right checksum, as a newer or a defective program may write it.
  check(record: MigrationRecord.sealed(bytes))
  if let attributes = ValueAttributes(encoded: bytes) { check(attributes: attributes) }
  return 0
}

private func check(record: Data) {
  guard let decoded = try? MigrationRecord(decoding: record, of: key, at: "fuzz") else { return }
  precondition(!isCanary, "the canary: a failure must be detected")
  guard let written = try? decoded.encoded() else { return }  // A date beyond what JSON can have.
  let again = try? MigrationRecord(decoding: written, of: key, at: "fuzz")
  precondition(again == decoded, "an accepted record was changed by writing it")
}

private func check(attributes: ValueAttributes) {
  guard let mark = try? SchemaMark(in: attributes) else { return }
  precondition(mark.version > 0, "a version is not positive")
  precondition((try? SchemaMark(in: mark.attributes)) == mark, "a version was changed by writing it")
}

@main enum FuzzMigration {
  static func main() {
    var count = CommandLine.argc
    var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
    exit(LLVMFuzzerRunDriver(&count, &arguments) { fuzzOne($0, $1) })
  }
}
