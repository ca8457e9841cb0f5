import CofferTerminal
import Foundation
import WatchifyKit

/// One command's use of the database.
struct Session: Sendable {
  let file: URL
  let container: ModelContainer
  let service: StoreService
  /// The followed stores, by name, as they were when the command began.
  let stores: [StoreDTO]

  /// - Parameter address: a shop that is about to be asked, besides the followed ones.
  init(_ file: URL, address: String? = nil) async throws {
    self.file = file
    container = try await ModelContainer.open(at: file)
    do {
      let stores = try await StoreService.makeBackground(container: container).stores()
      self.stores = stores
      service = await StoreService.makeBackground(container: container, api: Self.client())
    } catch {
      try? await container.close()
      throw error
    }
  }

  /// Pauses spare the shops' servers. What this very device serves needs none.
  private static func client() -> ShopifyClient {
    var configuration = ShopifyClient.Configuration()
    configuration.sparesOwnDevice = false
    return ShopifyClient(configuration: configuration)
  }

  /// Whether an address is on this very device.
  static func isLocal(_ domain: String) -> Bool { (try? ShopAddress(domain))?.isLoopback ?? false }

  /// Whether no store needs a network.
  var isLocal: Bool { !stores.isEmpty && stores.allSatisfy { Self.isLocal($0.domain) } }
}

/// Where the data is: `--data`, or the usual place.
func dataFile(_ invocation: Invocation) throws -> URL {
  if let path = invocation.options[.data] { return URL(fileURLWithPath: path) }
  return try ModelContainer.usualFile()
}

/// Opens the database, which is made if it is missing, and closes it when `body` has ended, however it ends.
func withSession<R>(
  _ invocation: Invocation, address: String? = nil, _ body: (Session) async throws -> R
) async throws -> R {
  let session = try await Session(dataFile(invocation), address: address)
  let result: R
  do {
    result = try await body(session)
  } catch {
    try? await session.container.close()  // What went wrong first is what to tell.
    throw error
  }
  try await session.container.close()
  return result
}
