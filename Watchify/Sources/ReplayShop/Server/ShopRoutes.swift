/// A request of a client.
struct ReplayRequest: Sendable {
  let method: String
  let target: RequestTarget
  let headers: [RequestRecord.Header]
  var body: [UInt8] = []

  func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name }?.value }

  /// Whether the client accepts gzip, with a quality other than zero.
  var acceptsGzip: Bool {
    (header("accept-encoding") ?? "").lowercased().split(separator: ",").contains { coding in
      let parts = coding.split(separator: ";").map { $0.filter { $0 != " " } }
      return parts.first == "gzip" && !(parts.dropFirst().contains { $0 == "q=0" || $0.hasPrefix("q=0.0") })
    }
  }
}

extension ShopState {
  /// Returns the response to a request other than those to control routes.
  mutating func answer(_ request: ReplayRequest) -> Answer {
    let path = request.target.path
    if let fault = configuration.faults(request.target.raw) {
      return fault.answer(insteadOf: list(request, mayCompress: false))
    }
    if let host = configuration.canonicalHost, request.header("host") != host {
      return .redirect(301, to: "http://\(host)\(request.target.raw)")
    }
    guard request.method == "GET" || request.method == "HEAD" else {
      return Answer.page(405, "Not here", "This shop is for reading.").with("Allow", "GET, HEAD")
    }
    switch path {
    case "/robots.txt":
      return configuration.robots.map { Answer(200, Answer.plain, $0) } ?? .failure(404, retryAfter: nil)
    case "/password": return .page(200, "\(configuration.name): opening soon", "Enter the password.")
    case _ where path.hasPrefix("/cdn/"): return picture(path)
    default: break
    }
    let isList = path == "/products.json" || path.hasPrefix("/collections/") && path.hasSuffix("/products.json")
    if let mode, let fault = mode.fault, mode.page == nil || isList && mode.page == request.target.page {
      return fault.answer(insteadOf: isList ? list(request, mayCompress: false) : page(request))
    }
    guard isList else { return page(request) }
    if let fault = takeEntry(page: request.target.page)?.fault {
      return fault.answer(insteadOf: list(request, mayCompress: false))
    }
    return list(request, mayCompress: true)
  }

  private mutating func list(_ request: ReplayRequest, mayCompress: Bool) -> Answer {
    let (page, limit) = (request.target.page, request.target.limit)
    if page > configuration.window / limit {
      let status = configuration.windowAnswer == .ok ? 200 : 400
      return Answer(status, Answer.json, #"{"errors":"Page * Limit exceeds the \#(configuration.window) limit."}"#)
    }
    let market = configuration.market(for: request.target, served: feed.servedCurrency)
    let compresses = mayCompress && configuration.compresses
    let content = self.page(page, limit: limit, market: market, compressed: compresses && request.acceptsGzip)
    var answer = Answer(200, Answer.json, content.bytes)
    if compresses { answer.headers.append(("Vary", "Accept-Encoding")) }
    if configuration.statesCurrency {
      answer.headers.append(("Set-Cookie", "cart_currency=\(market?.currency ?? configuration.currency); path=/"))
    }
    if configuration.tagsEntities {
      answer.headers.append(("ETag", content.tag))
      if mayCompress, request.header("if-none-match") == content.tag {
        answer.status = 304
        answer.body = .bytes([], .full)
        return answer
      }
    }
    if content.isCompressed { answer.headers.append(("Content-Encoding", "gzip")) }
    shift(after: page)
    return answer
  }

  /// Returns the response to a request for anything but a list.
  private func page(_ request: ReplayRequest) -> Answer {
    let path = request.target.path
    switch path {
    case "/": return .page(200, configuration.name, "A shop that exists on this computer only.")
    case "/meta.json": return Answer(200, Answer.json, meta)
    case "/cart.js":
      let market = configuration.market(for: request.target, served: feed.servedCurrency)
      return Answer(
        200, Answer.json,
        WireWriter.object {
          $0.raw("\"token\":\"replay\",\"item_count\":0,\"items\":[],\"total_price\":0,\"currency\":")
          $0.string(market?.currency ?? configuration.currency)
        })
    default:
      let prefix = "/products/"
      guard path.hasPrefix(prefix) else { return .failure(404, retryAfter: nil) }
      return product(String(path.dropFirst(prefix.count)))
    }
  }

  /// Returns a product's page, for users who follow a link.
  private func product(_ name: String) -> Answer {
    let handle = name.hasSuffix(".json") ? String(name.dropLast(".json".count)) : name
    for item in feed.items {
      guard let product = try? item.product(), product.handle == handle else { continue }
      if name != handle {
        var writer = WireWriter()
        writer.raw("{\"product\":")
        writer.product(product, imageBase: imageBase)
        writer.raw("}")
        return Answer(200, Answer.json, writer.bytes)
      }
      let price = product.variants.first.map { "\(priceText($0.price)) \(configuration.currency)" } ?? ""
      return .page(200, product.title.htmlText, price.htmlText)
    }
    return .failure(404, retryAfter: nil)
  }

  /// Returns a picture in the product's colour, so that pages have images without a network.
  private func picture(_ path: String) -> Answer {
    let name = path.split(separator: "/").last.map(String.init) ?? ""
    let color = name.prefix { $0 != "." }.split(separator: "-").last ?? ""
    return Answer(200, "image/png", ShopDrawing(color: color).png).with("Cache-Control", "max-age=3600")
  }

  private var meta: [UInt8] {
    let shop = configuration
    return WireWriter.object { writer in
      writer.raw("\"id\":57873465387,\"name\":")
      writer.string(shop.name)
      writer.raw(",\"city\":\"Little Tarn\",\"province\":\"\",\"country\":")
      writer.string(shop.country)
      writer.raw(",\"currency\":")
      writer.string(shop.currency)
      writer.raw(",\"domain\":")
      writer.string(shop.domain)
      writer.raw(",\"url\":")
      writer.string("https://\(shop.domain)")
      writer.raw(",\"myshopify_domain\":")
      writer.string(shop.permanentDomain)
      writer.raw(",\"description\":\"Things for the hills and the mat.\",\"ships_to_countries\":")
      writer.list([shop.country] + shop.markets.map(\.country)) { writer, country, _ in writer.string(country) }
      writer.raw(",\"money_format\":\"{{amount}} \(shop.currency)\",\"published_collections_count\":1,")
      writer.raw("\"published_products_count\":\(feed.count),\"offers_shop_pay_installments\":false")
    }
  }
}

extension String {
  /// The text escaped for HTML content.
  var htmlText: String {
    var text = ""
    for character in self {
      switch character {
      case "&": text += "&amp;"
      case "<": text += "&lt;"
      case ">": text += "&gt;"
      case "\"": text += "&quot;"
      default: text.append(character)
      }
    }
    return text
  }
}
