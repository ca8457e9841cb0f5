// Demonstrates Coffer with real data: ./run demo

import Coffer
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
do {
  if let command = arguments.first.flatMap(ChildCommand.init(rawValue:)) {
    try await command.run(Array(arguments.dropFirst()))
  } else {
    let isPassed = try await demonstrate(Options(arguments))
    Cleanup.exit(isPassed ? 0 : 1)
  }
} catch let error as UsageError {
  write("error: \(error)\nTry 'coffer-demo --help'.\n", to: STDERR_FILENO)
  Cleanup.exit(2)
} catch {
  write("error: \(error)\n", to: STDERR_FILENO)
  Cleanup.exit(1)
}
