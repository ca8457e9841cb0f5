import CofferLocks
import Foundation
import WatchifyCCurl

/// A GET.
struct HTTPRequest: Sendable {
  var url: URL
  var headers: [(name: String, value: String)] = []
  /// Which addresses its host may have.
  var reach = NetworkReach.internet
}

/// One answer of a server. Redirects are answers too: nobody follows them here.
struct HTTPAnswer: Sendable {
  var status: Int
  var url: URL
  var headers: [(name: String, value: String)] = []
  /// The address that answered; that of a proxy where there is one.
  var peer: String?
  var body = Data()

  /// All values of a header, with commas between them.
  func header(_ name: String) -> String? {
    let values = headers.lazy.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}

/// An answer beyond a limit: its body, unpacked or as it travels, or its headers.
struct AnswerTooLarge: Error {}

/// A host that has no address which may be asked.
struct ForbiddenAddress: Error, Hashable {
  /// The address that it has.
  var address: String
}

/// Sends requests with libcurl, one after another, keeping connections and nothing else: no cookies, no cache.
///
/// Not with Foundation's URLSession, which is made of libcurl too: it queues what a body unpacks to without end, so two
/// megabytes from a server become gigabytes here. Every limit holds inside libcurl's calls: a server is cut off at the
/// first byte too many, and no connection is opened to an address that may not be asked.
final class HTTPTransport: Sendable {
  /// What to do with a body beyond the limit.
  struct BodyLimit: Sendable {
    /// Of the body as it is unpacked.
    var bytes: Int
    /// Whether its beginning will do.
    var cuts = false
  }

  private let queue = DispatchQueue(label: "watchify.http", qos: .utility)
  private let timeout: Duration
  private let longestTransfer: Duration
  /// The connections. A pointer may not cross threads as such; libcurl lets this one be used by one at a time.
  private let multi: UInt

  /// `timeout` is that of a silent server; `longestTransfer` ends answers that drip.
  init(timeout: Duration, longestTransfer: Duration) {
    self.timeout = timeout
    self.longestTransfer = longestTransfer
    multi = UInt(bitPattern: Curl.library?.pointee.multi_init())
  }

  deinit {
    let multi = multi
    queue.async {
      if let multi = UnsafeMutableRawPointer(bitPattern: multi) { _ = Curl.library?.pointee.multi_cleanup(multi) }
    }
  }

  /// The answer to a request.
  /// - Throws: `URLError`, ``AnswerTooLarge``, ``ForbiddenAddress`` or `CancellationError`.
  func get(_ request: HTTPRequest, limit: BodyLimit) async throws -> HTTPAnswer {
    guard let curl = Curl.library, multi != 0 else { throw Curl.Missing() }
    let ending = HTTPEnding(curl: curl, multi: multi, owner: self)
    let transfer = HTTPTransfer(request, limit: limit, silence: timeout, longest: longestTransfer, ending: ending)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        ending.begin(continuation)
        queue.async { transfer.run() }
      }
    } onCancel: {
      ending.cancel()
    }
  }
}

/// How a transfer ends: once, by its own thread or by whoever cancels it.
final class HTTPEnding: @unchecked Sendable {  // The library's table is never changed; the rest is behind the lock.
  typealias Continuation = CheckedContinuation<HTTPAnswer, any Error>

  private struct State {
    var continuation: Continuation?
    var isCancelled = false
  }

  let curl: UnsafePointer<watchify_curl>
  let multi: UnsafeMutableRawPointer?
  /// Keeps the connections while there may be use of them.
  private let owner: HTTPTransport
  private let state = Locked(State())

  init(curl: UnsafePointer<watchify_curl>, multi: UInt, owner: HTTPTransport) {
    self.curl = curl
    self.owner = owner
    self.multi = UnsafeMutableRawPointer(bitPattern: multi)
  }

  var isCancelled: Bool { state.withLock { $0.isCancelled } }

  func begin(_ continuation: Continuation) {
    let isOver = state.withLock { state in
      if !state.isCancelled { state.continuation = continuation }
      return state.isCancelled
    }
    if isOver { continuation.resume(throwing: CancellationError()) }
  }

  func finish(_ result: Result<HTTPAnswer, any Error>) {
    let (continuation, isCancelled) = state.withLock { state in
      defer { state.continuation = nil }
      return (state.continuation, state.isCancelled)
    }
    // A transfer that was broken off has an error of its own to tell.
    continuation?.resume(with: isCancelled ? .failure(CancellationError()) : result)
  }

  /// The caller goes on at once; the thread cleans up behind it, which may take as long as a name is looked up.
  func cancel() {
    state.withLock { $0.isCancelled = true }
    if let multi { _ = curl.pointee.multi_wakeup(multi) }
    finish(.failure(CancellationError()))
  }
}
