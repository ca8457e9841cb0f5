import CofferCore
import WatchifyHTTP

/// Answers requests with the state of a shop, and keeps its log.
final class ShopHandler: Sendable {
  let shop: Locked<ShopState>

  init(shop: ShopState) { self.shop = Locked(shop) }

  /// Returns the response to a request; those to control routes are not logged.
  func respond(to request: HTTPRequest) async -> HTTPResponse {
    let request = ReplayRequest(request)
    if request.target.path.hasPrefix(ShopState.controlPrefix) {
      return shop.withLock { $0.control(request) }.response(to: request, counting: nil)
    }
    let (record, observer, latency) = shop.withLock { shop in
      (shop.arrive(request), shop.configuration.onRequest, shop.configuration.latency)
    }
    let presence = Presence(number: record.number, shop: shop)
    return await presence.whileConnected {
      observer(record)
      let answer = shop.withLock { $0.answer(request) }
      let delay = latency + answer.delay
      if delay > .zero {
        do { try await Task.sleep(for: delay) } catch { return HTTPResponse(200, body: .abort(.close)) }
      }
      if answer.status > 0 { shop.withLock { $0.answered(record.number, status: answer.status) } }
      return answer.response(to: request, counting: presence)
    }
  }
}

/// A request while it counts as in progress: until its last byte is handed over, so that a consecutive request does not
/// overlap, or until its client is gone.
final class Presence: Sendable {
  private let number: Int
  private let shop: Locked<ShopState>

  init(number: Int, shop: Locked<ShopState>) {
    self.number = number
    self.shop = shop
  }

  deinit { leave() }

  func leave() { shop.withLock { $0.leave(number) } }

  /// Calls a function; if the client closes the connection meanwhile, the request no longer counts.
  func whileConnected<Result>(_ body: () async throws -> Result) async rethrows -> Result {
    try await withTaskCancellationHandler(operation: body) { leave() }
  }
}

extension ReplayRequest {
  init(_ request: HTTPRequest) {
    self.init(
      method: request.method, target: RequestTarget(request.target),
      headers: request.headers.map { RequestRecord.Header(name: $0.name, value: $0.value) }, body: request.body)
  }
}
