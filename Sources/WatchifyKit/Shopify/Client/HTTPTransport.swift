import CofferLocks
import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

/// One answer of a server. Redirects are answers too: nobody follows them here.
struct HTTPAnswer: Sendable {
  var status: Int
  var url: URL
  var response: HTTPURLResponse
  var body = Data()

  func header(_ name: String) -> String? { response.value(forHTTPHeaderField: name) }
}

/// A body beyond the limit.
struct BodyTooLarge: Error {}

/// Sends requests with Foundation's URLSession, keeping no cookies, no cache and no credentials.
final class HTTPTransport: Sendable {
  /// What to do with a body beyond the limit.
  struct BodyLimit: Sendable {
    var bytes: Int
    /// Whether its beginning will do.
    var cuts = false
  }

  private let session: URLSession
  private let exchanges = HTTPExchanges()
  private let longestTransfer: Duration

  /// `timeout` is that of a silent server; `longestTransfer` ends answers that drip.
  init(timeout: Duration, longestTransfer: Duration) {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.httpCookieAcceptPolicy = .never
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    configuration.httpMaximumConnectionsPerHost = 1
    configuration.timeoutIntervalForRequest = timeout / .seconds(1)
    session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    self.longestTransfer = longestTransfer
  }

  // The session keeps its delegate until it is told to stop.
  deinit { session.invalidateAndCancel() }

  /// The answer to a GET.
  /// - Throws: `URLError`, ``BodyTooLarge`` or `CancellationError`.
  func get(_ request: URLRequest, limit: BodyLimit) async throws -> HTTPAnswer {
    let task = session.dataTask(with: request)
    let id = task.taskIdentifier
    let (exchanges, longest) = (self.exchanges, longestTransfer)
    let watchdog = Task {
      try await Task.sleep(for: longest)
      exchanges.finish(id, with: .failure(URLError(.timedOut)))
      task.cancel()
    }
    defer { watchdog.cancel() }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        exchanges.begin(id, limit: limit, continuation: continuation)
        if Task.isCancelled { exchanges.finish(id, with: .failure(CancellationError())) } else { task.resume() }
      }
    } onCancel: {
      exchanges.finish(id, with: .failure(CancellationError()))
      task.cancel()
    }
  }
}

/// What is under way in a session, by the number of its task.
private final class HTTPExchanges: NSObject, URLSessionDataDelegate, Sendable {
  private struct Exchange {
    var limit: HTTPTransport.BodyLimit
    var continuation: CheckedContinuation<HTTPAnswer, any Error>
    var answer: HTTPAnswer?
  }

  private let exchanges = Locked<[Int: Exchange]>([:])

  func begin(
    _ id: Int, limit: HTTPTransport.BodyLimit, continuation: CheckedContinuation<HTTPAnswer, any Error>
  ) {
    exchanges.withLock { $0[id] = Exchange(limit: limit, continuation: continuation) }
  }

  /// Ends an exchange once; what comes later is for nobody.
  func finish(_ id: Int, with result: Result<HTTPAnswer, any Error>? = nil) {
    guard let exchange = exchanges.withLock({ $0.removeValue(forKey: id) }) else { return }
    let answer = exchange.answer.map { Result<HTTPAnswer, any Error>.success($0) }
    exchange.continuation.resume(with: result ?? answer ?? .failure(URLError(.badServerResponse)))
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
    newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
  ) {
    completionHandler(nil)
  }

  func urlSession(
    _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
    completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
  ) {
    let id = dataTask.taskIdentifier
    guard let response = response as? HTTPURLResponse, let url = response.url ?? dataTask.currentRequest?.url else {
      finish(id, with: .failure(URLError(.badServerResponse)))
      return completionHandler(.cancel)
    }
    let isTooLarge = exchanges.withLock { exchanges in
      exchanges[id]?.answer = HTTPAnswer(status: response.statusCode, url: url, response: response)
      return exchanges[id].map { !$0.limit.cuts && response.expectedContentLength > $0.limit.bytes } ?? true
    }
    // Of a refusal the status says all, and after a 401 some versions of Foundation never end the task.
    let needsBody = (200...299).contains(response.statusCode) || [400, 503].contains(response.statusCode)
    guard needsBody, !isTooLarge else {
      finish(id, with: needsBody ? .failure(BodyTooLarge()) : nil)
      return completionHandler(.cancel)
    }
    completionHandler(.allow)
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let id = dataTask.taskIdentifier
    let cuts = exchanges.withLock { exchanges -> Bool? in
      guard let limit = exchanges[id]?.limit, let count = exchanges[id]?.answer?.body.count else { return nil }
      exchanges[id]?.answer?.body.append(data.prefix(limit.bytes - count))
      return count + data.count > limit.bytes ? limit.cuts : nil
    }
    guard let cuts else { return }
    finish(id, with: cuts ? nil : .failure(BodyTooLarge()))
    dataTask.cancel()
  }

  func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
    finish(task.taskIdentifier, with: error.map { .failure($0) })
  }
}
