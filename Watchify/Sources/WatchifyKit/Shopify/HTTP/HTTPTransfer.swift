import Foundation
import WatchifyCCurl

/// A request in progress and the response received so far.
final class HTTPTransfer: @unchecked Sendable {  // After initialization it is only used on the transport's queue.
  /// The maximum size of the headers, and of all other bytes outside the body.
  private static let largestHead = 64 * 1024
  /// The accepted codings. libcurl supports others, which may need more memory than the limit.
  private static let codings: Set<Substring> = ["gzip", "x-gzip", "deflate", "identity", "none", "chunked"]

  private let request: HTTPRequest
  private let limit: HTTPTransport.BodyLimit
  private let silence: Duration
  private let longest: Duration
  private let ending: HTTPEnding
  private var isProxied = false

  private var answer: HTTPAnswer
  private var headBytes = 0
  private var isHeadOver = false
  /// Whether the transfer was ended on purpose, so that libcurl's error is ignored.
  private var hasEnough = false
  private var failure: (any Error)?
  private var forbidden: String?
  private var received: Int64 = 0
  private var lastSign = ContinuousClock.now

  init(
    _ request: HTTPRequest, limit: HTTPTransport.BodyLimit, silence: Duration, longest: Duration, ending: HTTPEnding
  ) {
    self.request = request
    self.limit = limit
    self.silence = silence
    self.longest = longest
    self.ending = ending
    answer = HTTPAnswer(status: 0, url: request.url)
  }

  // MARK: - The thread's side

  /// Performs the transfer; returns when it has ended.
  func run() {
    guard !ending.isCancelled else { return }
    ending.finish(Result { try perform() })
  }

  private func perform() throws -> HTTPAnswer {
    let curl = ending.curl
    guard let multi = ending.multi, let easy = curl.pointee.easy_init() else { throw URLError(.unknown) }
    defer { curl.pointee.easy_cleanup(easy) }
    var lines: UnsafeMutableRawPointer?
    defer { curl.pointee.slist_free_all(lines) }
    for (name, value) in request.headers {
      // libcurl omits a header without a value, unless a semicolon follows the name.
      guard let longer = curl.pointee.slist_append(lines, value.isEmpty ? "\(name);" : "\(name): \(value)") else {
        continue
      }
      lines = longer
    }
    prepare(easy, lines)
    isProxied = try Curl.setProxy(of: easy, to: request.url, within: request.reach)
    guard curl.pointee.multi_add_handle(multi, easy) == 0 else { throw URLError(.unknown) }
    defer { _ = curl.pointee.multi_remove_handle(multi, easy) }
    lastSign = .now
    do {
      return try answer(easy, try drive(multi, until: .now + longest))
    } catch  where isSent(easy) {
      throw UnansweredUpload(cause: error)
    }
  }

  /// Whether a part of an upload may have reached the server.
  private func isSent(_ easy: UnsafeMutableRawPointer) -> Bool {
    request.upload != nil && watchify_curl_number(ending.curl, easy, Int32(WATCHIFY_CURLINFO_REQUEST_SIZE)) > 0
  }

  /// Returns the response, or throws the error of a transfer that has ended.
  private func answer(_ easy: UnsafeMutableRawPointer, _ result: Int32) throws -> HTTPAnswer {
    let curl = ending.curl
    if let failure { throw failure }
    if let address = watchify_curl_text(curl, easy, Int32(WATCHIFY_CURLINFO_PRIMARY_IP)) {
      answer.peer = String(cString: address)
    }
    guard result != 0, !hasEnough else {
      // For libcurl, a response may end in its head.
      guard isHeadOver else { throw URLError(.networkConnectionLost) }
      return answer
    }
    if result == 7, let forbidden { throw ForbiddenAddress(address: forbidden) }
    let verification = watchify_curl_number(curl, easy, Int32(WATCHIFY_CURLINFO_SSL_VERIFYRESULT))
    if let flaw = InsecureConnection.Flaw(result: result, verification: verification) {
      throw InsecureConnection(host: request.url.host ?? "the server", flaw: flaw)
    }
    throw Curl.error(result, system: watchify_curl_number(curl, easy, Int32(WATCHIFY_CURLINFO_OS_ERRNO)))
  }

  /// Runs libcurl until the transfer ends; returns its result.
  private func drive(_ multi: UnsafeMutableRawPointer, until end: ContinuousClock.Instant) throws -> Int32 {
    let curl = ending.curl
    while true {
      var running: Int32 = 0
      guard curl.pointee.multi_perform(multi, &running) == 0 else { throw URLError(.unknown) }
      let result = watchify_curl_result(curl, multi)
      if result >= 0 { return result }
      if ending.isCancelled { throw CancellationError() }
      let rest = min(end, lastSign + silence) - .now
      guard rest > .zero else { throw URLError(.timedOut) }
      let milliseconds = Int32(clamping: Int((rest / .milliseconds(1)).rounded(.up)))
      _ = curl.pointee.multi_poll(multi, nil, 0, min(milliseconds, 1_000), nil)
    }
  }

  private func prepare(_ easy: UnsafeMutableRawPointer, _ headers: UnsafeMutableRawPointer?) {
    let curl = ending.curl
    let context = Unmanaged.passUnretained(self).toOpaque()
    func set(_ option: Int, _ number: Int) {
      _ = watchify_curl_set_number(curl, easy, Int32(option), number)
    }
    func set(_ option: Int, _ pointer: UnsafeRawPointer?) {
      _ = watchify_curl_set_pointer(curl, easy, Int32(option), pointer)
    }
    request.url.absoluteString.withCString { set(WATCHIFY_CURLOPT_URL, UnsafeRawPointer($0)) }
    set(WATCHIFY_CURLOPT_HTTPHEADER, headers)
    if request.upload == nil {
      "gzip, deflate".withCString { set(WATCHIFY_CURLOPT_ACCEPT_ENCODING, UnsafeRawPointer($0)) }
    }
    if let upload = request.upload {
      set(WATCHIFY_CURLOPT_POSTFIELDSIZE, upload.body.count)
      upload.body.withUnsafeBytes { set(WATCHIFY_CURLOPT_COPYPOSTFIELDS, $0.baseAddress) }
      upload.method.withCString { set(WATCHIFY_CURLOPT_CUSTOMREQUEST, UnsafeRawPointer($0)) }
      // On a reused connection that the server closes, libcurl would send the message again by itself.
      set(WATCHIFY_CURLOPT_FORBID_REUSE, 1)
    }
    request.certificates?.withCString { set(WATCHIFY_CURLOPT_CAINFO, UnsafeRawPointer($0)) }
    set(WATCHIFY_CURLOPT_PROTOCOLS, 1 | 2)  // http, https
    set(WATCHIFY_CURLOPT_NOSIGNAL, 1)
    set(WATCHIFY_CURLOPT_NOPROGRESS, 0)
    set(WATCHIFY_CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
    set(WATCHIFY_CURLOPT_CONNECTTIMEOUT_MS, Int(silence / .milliseconds(1)))
    for option in [
      WATCHIFY_CURLOPT_WRITEDATA, WATCHIFY_CURLOPT_HEADERDATA, WATCHIFY_CURLOPT_XFERINFODATA,
      WATCHIFY_CURLOPT_OPENSOCKETDATA,
    ] {
      set(option, context)
    }
    _ = watchify_curl_set_data(curl, easy, Int32(WATCHIFY_CURLOPT_WRITEFUNCTION), takeBody)
    _ = watchify_curl_set_data(curl, easy, Int32(WATCHIFY_CURLOPT_HEADERFUNCTION), takeHeader)
    _ = watchify_curl_set_progress(curl, easy, goesOn)
    _ = watchify_curl_set_open(curl, easy, openSocket)
  }

  // MARK: - libcurl's side

  /// Handles a line of the response's head; returning `false` ends the transfer.
  fileprivate func take(header bytes: UnsafeRawBufferPointer) -> Bool {
    lastSign = .now
    headBytes += bytes.count
    guard headBytes <= Self.largestHead else { return fail(AnswerTooLarge()) }
    // Trailers after the body are ignored.
    guard !isHeadOver else { return true }
    let line = String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    if line.isEmpty { return endHead() }
    if line.hasPrefix("HTTP/"), let status = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) {
      answer.status = status
      answer.headers = []
    } else if let colon = line.firstIndex(of: ":") {
      let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
      answer.headers.append((String(line[..<colon]), value))
      return checkCodings() || fail(URLError(.cannotDecodeContentData))
    }
    return true
  }

  private func endHead() -> Bool {
    guard answer.status >= 200 else { return true }
    isHeadOver = true
    // For other statuses, and for uploads that were not accepted, the body is not needed.
    let needed = (200...299).contains(answer.status) || request.upload == nil && [400, 503].contains(answer.status)
    guard needed else { return end() }
    let length = answer.header("Content-Length").flatMap { Int($0) } ?? 0
    return length <= limit.bytes || limit.cuts || fail(AnswerTooLarge())
  }

  /// Whether the codings are accepted. At most one, because each further one multiplies the size or cost of unpacking.
  /// The content of the response to an upload is dropped and not unpacked, so its coding is ignored.
  private func checkCodings() -> Bool {
    let headers = request.upload == nil ? ["Content-Encoding", "Transfer-Encoding"] : ["Transfer-Encoding"]
    let names = headers.compactMap { answer.header($0)?.lowercased() }
      .joined(separator: ",").split { $0 == "," || $0 == " " || $0 == "\t" }
    return names.allSatisfy(Self.codings.contains) && names.count { $0 != "chunked" && $0 != "identity" } <= 1
  }

  /// Appends an unpacked part of the body; returning `false` ends the transfer.
  fileprivate func take(body bytes: UnsafeRawBufferPointer) -> Bool {
    lastSign = .now
    let room = limit.bytes - answer.body.count
    answer.body.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes.prefix(room)))
    guard bytes.count > room else { return !ending.isCancelled }
    return limit.cuts ? end() : fail(AnswerTooLarge())
  }

  /// Checks the number of bytes received, which may unpack to nothing; returning `false` ends the transfer.
  fileprivate func progress(_ now: Int64) -> Bool {
    if now != received { lastSign = .now }
    received = now
    guard now > limit.bytes + Self.largestHead else { return !ending.isCancelled }
    return limit.cuts ? end() : fail(AnswerTooLarge())
  }

  fileprivate func mayConnect(to address: NetworkAddress?) -> Bool {
    lastSign = .now
    guard !isProxied else { return true }
    if let address, request.reach.includes(address) { return true }
    forbidden = address?.description ?? "no internet address"
    return false
  }

  private func end() -> Bool {
    hasEnough = true
    return false
  }

  private func fail(_ error: any Error) -> Bool {
    failure = error
    return false
  }
}

// MARK: - Functions that libcurl calls

private nonisolated func transfer(_ context: UnsafeMutableRawPointer?) -> HTTPTransfer? {
  context.map { Unmanaged<HTTPTransfer>.fromOpaque($0).takeUnretainedValue() }
}

private nonisolated func takeHeader(
  bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
  transfer(context)?.take(header: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? false ? size * count : 0
}

private nonisolated func takeBody(
  bytes: UnsafeMutablePointer<CChar>?, size: Int, count: Int, context: UnsafeMutableRawPointer?
) -> Int {
  // For an empty part, success and failure are both 0, so it cannot end the transfer, which is harmless.
  transfer(context)?.take(body: UnsafeRawBufferPointer(start: bytes, count: size * count)) ?? false ? size * count : 0
}

private nonisolated func goesOn(
  context: UnsafeMutableRawPointer?, total: Int64, now: Int64, upTotal: Int64, upNow: Int64
) -> Int32 {
  transfer(context)?.progress(now) ?? false ? 0 : 1
}

private nonisolated func openSocket(
  context: UnsafeMutableRawPointer?, purpose: Int32, address: UnsafeMutablePointer<watchify_curl_address>?
) -> Int32 {
  guard let address, let transfer = transfer(context) else { return -1 }
  return Curl.socket(to: address, if: transfer.mayConnect)
}
