import CofferTesting
import Foundation

/// The preloaded library that makes system calls fail.
package enum FaultLibrary {
  package static let path = preloadedLibrary("fault")
}

/// The preloaded library that records system calls for ``PowerLoss``.
package enum RecordingLibrary {
  package static let path = preloadedLibrary("PowerLoss/record")
}

/// Compiles a C file of this folder, once per run, next to the test bundle; `nil` without a compiler.
private func preloadedLibrary(_ name: String) -> String? {
  let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(name + ".c")
  let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  let library = folder.appendingPathComponent(
    "coffer-\(source.deletingPathExtension().lastPathComponent)-\(getpid()).so")
  atexit { removePreloadedLibraries() }
  for compiler in ["cc", "clang", "gcc"] {
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = [compiler, "-shared", "-fPIC", "-O1", "-o", library.path, source.path, "-ldl"]
    process.standardError = Pipe()
    guard (try? process.runUnblocked()) != nil else { continue }
    process.waitUntilExit()
    if process.terminationStatus == 0 { return library.path }
  }
  return nil
}

private nonisolated func removePreloadedLibraries() {
  let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
  for name in ["fault", "record"] { unlink(folder.appendingPathComponent("coffer-\(name)-\(getpid()).so").path) }
}
