import CofferTestSupport
import CofferTestTraits
import Foundation
import Testing

@testable import Coffer
@testable import CofferRouter

/// What a router that is closed or released leaves open.
@Suite(.blocking, .timeLimit(.minutes(5)))
struct ReleasedRouterTests {
  private let fixture: RouterFixture

  init() throws { fixture = try RouterFixture() }

  private var keys: [TypedKey<Int>] {
    let files = StorageDomain.fileSystem(.custom(URL(fileURLWithPath: fixture.path("files"))))
    let preferences = StorageDomain.userDefaults(suite: "com.example.released")
    let database = StorageDomain.database(URL(fileURLWithPath: fixture.path("store.db")))
    return [files, preferences, database].map { plain("in \($0)", in: $0) }
  }

  /// The descriptors of this process that are files or directories of the fixture.
  private func descriptors() throws -> [String] {
    let folder = "/proc/self/fd"
    return try FileManager.default.contentsOfDirectory(atPath: folder).compactMap { name in
      let path = try? FileManager.default.destinationOfSymbolicLink(atPath: "\(folder)/\(name)")
      return path.flatMap { $0.hasPrefix(fixture.path("")) ? $0 : nil }
    }
  }

  private final class Released: @unchecked Sendable {  // used by one task at a time
    weak var store: TypedStore?
  }

  @Test("Neither a closed router nor one that is released keeps a descriptor or a store", arguments: [true, false])
  func nothingStaysOpen(isClosed: Bool) async throws {
    for key in keys {
      let released = Released()
      try await SystemDirectories.$current.withValue(fixture.system) {
        let router = StorageRouter(configuration: configured { $0.unregisteredKeys = .allow })
        try await router.set(1, for: key)
        #expect(try await router.get(key) == 1)
        released.store = try await router.resolve(key).store
        #expect(try descriptors().isEmpty == false)
        if isClosed {
          try await router.close()
          await #expect(throws: StorageError.self) { try await router.get(key) }
          #expect(router.cached(key) == nil)
          try await eventually(key.name) { released.store == nil }
        }
      }
      try await eventually(key.name) { try released.store == nil && descriptors().isEmpty }
    }
  }
}
