// Demonstrates Coffer with a second process, kills, damage and a thief: ./run demo

import CofferTerminal
import Foundation

private let usage = """
  usage: coffer-demo [--keep DIR]

    --keep DIR  create the stores in DIR, a new folder, and keep them

  Exit code: 0 all checks passed, 1 a check failed, 2 the options are wrong.
  """

private struct WrongOptions: Error {}

/// Returns the folder of the stores: the one of `--keep`, or a temporary one that is removed at the end.
private func folder(_ arguments: [String]) throws -> URL {
  let temporary = FileManager.default.temporaryDirectory.appendingPathComponent("coffer-demo-\(UUID().uuidString)")
  guard arguments.isEmpty || arguments.count == 2 && arguments[0] == "--keep" else { throw WrongOptions() }
  let folder = arguments.last.map { URL(fileURLWithPath: $0) } ?? temporary
  if arguments.isEmpty { Cleanup.remove(folder) }
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
  return folder
}

private let arguments = Array(CommandLine.arguments.dropFirst())
signal(SIGPIPE, SIG_IGN)  // The failing write throws an error instead.
do {
  if let command = arguments.first.flatMap(ChildCommand.init(rawValue:)), arguments.count == 2 {
    try await command.run(arguments[1])
  } else if ["--help", "-h"].contains(arguments.first) {
    try printLine(usage)
  } else {
    Cleanup.exit(try await demonstrate(in: folder(arguments), isKept: !arguments.isEmpty) ? 0 : 1)
  }
} catch is WrongOptions {
  try? Output.error.note(usage)
  Cleanup.exit(2)
} catch is OutputClosed {
  Cleanup.exit(1)
} catch {
  try? Output.error.note("\(error)", after: "coffer-demo:")
  Cleanup.exit(1)
}
