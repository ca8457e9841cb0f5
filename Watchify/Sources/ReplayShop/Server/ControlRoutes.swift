import Foundation

/// The control routes under `/_replay/`, for users and for tests in other processes.
extension ShopState {
  static let controlPrefix = "/_replay/"

  mutating func control(_ request: ReplayRequest) -> Answer {
    let name = request.target.path.dropFirst(Self.controlPrefix.count)
    do {
      switch (request.method, name) {
      case ("GET", "log"): return Answer(200, Answer.json, log)
      case ("DELETE", "log"):
        forgetRequests()
        return done("forgotten", nil)
      case ("POST", "advance"): return done("step", try advance())
      case ("POST", "script"):
        script += try lines(of: request).map { line throws(ReplayError) in try ScriptEntry(line) }
        return done("waiting", String(script.count))
      case ("POST", "mode"):
        guard let line = lines(of: request).first else { throw ReplayError.notAScript(line: "") }
        mode = try ScriptEntry(line)
        return done("mode", line)
      case ("POST", "feed"):
        set(feed: try ShopFeed(recorded: Data(request.body)))
        return done("products", String(feed.count))
      case ("POST", "currency"):
        let currency = lines(of: request).first
        update { $0.servedCurrency = currency }
        return done("currency", feed.servedCurrency)
      default: return .failure(404, retryAfter: nil)
      }
    } catch {
      return Answer(
        400, Answer.json,
        WireWriter.object {
          $0.raw("\"error\":")
          $0.string("\(error)")
        })
    }
  }

  private func lines(of request: ReplayRequest) -> [String] {
    String(decoding: request.body, as: UTF8.self).split(whereSeparator: \.isNewline).map(String.init)
  }

  private func done(_ name: String, _ value: String?) -> Answer {
    Answer(
      200, Answer.json,
      WireWriter.object {
        $0.string(name)
        $0.raw(":")
        $0.string(value)
      })
  }

  private var log: [UInt8] {
    WireWriter.object { writer in
      writer.raw("\"maximumInFlight\":\(maximumInFlight),\"waiting\":\(script.count),\"requests\":")
      writer.list(requests) { writer, record, _ in
        writer.raw("{\"number\":\(record.number),\"time\":\(record.time.timeIntervalSince1970),\"method\":")
        writer.string(record.method)
        writer.raw(",\"target\":")
        writer.string(record.target)
        writer.raw(",\"inFlight\":\(record.inFlight),\"status\":")
        writer.raw(record.status.map(String.init) ?? "null")
        writer.raw(",\"headers\":")
        writer.list(record.headers) { writer, header, _ in
          writer.list([header.name, header.value]) { writer, text, _ in writer.string(text) }
        }
        writer.raw("}")
      }
    }
  }
}
