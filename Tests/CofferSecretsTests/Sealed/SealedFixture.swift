import CofferCore
import CofferEncryption
import CofferFiles
import CofferSecrets
import CofferTestSupport
import Foundation

/// A cost that is fast and offers no protection.
let cheap = ScryptCost(logN: 10, r: 1, p: 1)

func passphrase(_ text: String) -> PassphraseSource { .provided { Data(text.utf8) } }

/// A sealed file in a temporary directory, which is removed when this object is deallocated.
final class SealedFixture: Sendable {
  private let directory: TemporaryDirectory
  init() throws { directory = try TemporaryDirectory() }

  var url: URL { directory.url.appendingPathComponent("secrets.sealed") }
  var path: String { url.path }
  var control: String { path + ".coffer" }

  func open(
    _ text: String = "correct horse", _ configure: (inout SlotEngine.Configuration) -> Void = { _ in }
  ) async throws -> SlotEngine {
    var configuration = SlotEngine.Configuration()
    configure(&configuration)
    return try await SlotEngine.sealed(
      at: url, passphrase: passphrase(text), configuration: configuration, cost: cheap)
  }

  /// Returns the name and the contents of every file of the store.
  func allFiles() throws -> [(name: String, bytes: Data)] {
    let names = try FileManager.default.subpathsOfDirectory(atPath: directory.url.path)
    return names.compactMap { name in
      FileManager.default.contents(atPath: directory.path(name)).map { (name, $0) }
    }
  }
}

func expectError(_ code: StorageError.Code, _ contains: String = "", _ body: () async throws -> Void) async throws {
  do {
    try await body()
  } catch let error as StorageError where error.code == code {
    if contains.isEmpty || error.description.contains(contains) { return }
    throw TestFailure("\(error)")
  }
  throw TestFailure("expected \(code), but nothing was thrown")
}
