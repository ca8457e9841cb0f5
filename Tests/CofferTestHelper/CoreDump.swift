#if os(Linux)
  import CofferCore
  import CofferTesting
  import Foundation

  /// Dumps core while an engine is alive, after printing a marker that is in ordinary memory.
  /// - Parameter folder: the directory of the dump.
  func dumpCore(into folder: String, keeping engine: any StorageEngine) async throws {
    let marker = (0..<8).map { _ in String(UInt64.random(in: .min ... .max), radix: 16) }.joined()
    say(marker)
    chdir(folder)
    var limit = rlimit(rlim_cur: rlim_t.max, rlim_max: rlim_t.max)
    setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
    signal(SIGABRT, SIG_DFL)
    withExtendedLifetime((engine, marker)) { _ = kill(getpid(), SIGABRT) }
    try await hang()
  }
#endif
