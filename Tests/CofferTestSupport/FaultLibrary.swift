import Foundation

/// The preloaded library that makes system calls fail. It is compiled once per run, next to the test bundle.
package enum FaultLibrary {
  package static let path: String? = {
    let source = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent("fault.c")
    let folder = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let library = folder.appendingPathComponent("coffer-fault-\(getpid()).so")
    atexit { removeFaultLibrary() }
    for compiler in ["cc", "clang", "gcc"] {
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = [compiler, "-shared", "-fPIC", "-O1", "-o", library.path, source.path, "-ldl"]
      process.standardError = Pipe()
      guard (try? process.run()) != nil else { continue }
      process.waitUntilExit()
      if process.terminationStatus == 0 { return library.path }
    }
    return nil
  }()
}

private nonisolated func removeFaultLibrary() {
  if let path = FaultLibrary.path { unlink(path) }
}
