import CofferTerminal
import Foundation
import WatchifyKit

/// The open database and services of one command.
struct Session: Sendable {
  let file: URL
  let container: ModelContainer
  let service: StoreService
  /// The followed stores at the start of the command, ordered by name.
  let stores: [StoreDTO]

  /// - Parameter address: a shop that is about to be read, besides the followed ones.
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

  /// Creates the session of a demo, whose database it leaves open.
  init(_ shop: DemoShop) async throws {
    (file, container, service) = (shop.file, shop.container, shop.service)
    stores = try await shop.service.stores()
  }

  /// Creates a client that does not delay requests to shops on this device.
  private static func client() -> ShopifyClient {
    var configuration = ShopifyClient.Configuration()
    configuration.sparesOwnDevice = false
    return ShopifyClient(configuration: configuration)
  }

  /// Returns whether an address is on this device.
  static func isLocal(_ domain: String) -> Bool { (try? ShopAddress(domain))?.isLoopback ?? false }

  /// Whether all followed stores are on this device.
  var isLocal: Bool { !stores.isEmpty && stores.allSatisfy { Self.isLocal($0.domain) } }
}

/// Returns the location of the database: `--data`, or the default one.
func dataFile(_ invocation: Invocation) throws -> URL {
  if let path = invocation.options[.data] { return URL(fileURLWithPath: path) }
  return try ModelContainer.usualFile()
}

/// Opens the database, creating it if it does not exist, runs `body`, and closes the database even if `body` throws.
func withSession<R>(
  _ invocation: Invocation, address: String? = nil, _ body: (Session) async throws -> R
) async throws -> R {
  let session = try await Session(dataFile(invocation), address: address)
  let result: R
  do {
    result = try await body(session)
  } catch {
    try? await session.container.close()  // The first error is the one to report.
    throw error
  }
  try await session.container.close()
  return result
}
