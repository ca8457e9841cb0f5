/// What a replay shop is at a moment; the server keeps it behind a lock.
struct ShopState: Sendable {
  var feed: ShopFeed
  var configuration: ReplayConfiguration
  var steps: [ReplayTimeline.Step]
  /// Where this server draws pictures; it depends on its port.
  private var pictures = ""
  var script: [ScriptEntry] = []
  /// What goes wrong with every request, or with every list of a page.
  var mode: ScriptEntry?
  private(set) var requests: [RequestRecord] = []
  private(set) var maximumInFlight = 0
  private var nextNumber = 0
  /// The sockets of the requests that are being answered, by their numbers in the log.
  private var inFlight: [Int: Int32] = [:]
  private var hasShifted = false
  private var pages: [PageKey: CachedPage] = [:]
  private var cachedBytes = 0

  init(feed: ShopFeed, configuration: ReplayConfiguration, timeline: ReplayTimeline?) {
    self.feed = feed
    self.configuration = configuration
    steps = timeline?.steps ?? []
  }

  // MARK: The log

  /// A server that runs for weeks keeps the latest ones.
  static let logLimit = 100_000

  mutating func arrive(_ request: ReplayRequest, over socket: Int32) -> RequestRecord {
    // A client that gave up and asks again has one request in flight, even if its first one has not noticed yet.
    let count = inFlight.values.count { !hasHungUp($0) } + 1
    inFlight[nextNumber] = socket
    maximumInFlight = max(maximumInFlight, count)
    if requests.count >= Self.logLimit { requests.removeFirst(Self.logLimit / 2) }
    let record = RequestRecord(
      number: nextNumber, time: configuration.now(), method: request.method, target: request.target.raw,
      headers: request.headers, inFlight: count, status: nil)
    nextNumber += 1
    requests.append(record)
    return record
  }

  mutating func answered(_ number: Int, status: Int) {
    guard let first = requests.first?.number, requests.indices.contains(number - first) else { return }
    requests[number - first].status = status
  }

  mutating func leave(_ number: Int) { inFlight[number] = nil }

  mutating func forgetRequests() {
    requests = []
    maximumInFlight = 0
  }

  // MARK: What happens to it

  mutating func set(feed: ShopFeed) {
    self.feed = feed
    hasShifted = false
    forgetPages()
  }

  mutating func update<E: Error>(_ change: (inout ShopFeed) throws(E) -> Void) throws(E) {
    var changed = feed
    try change(&changed)
    feed = changed
    forgetPages()
  }

  var imageBase: String { configuration.imageBase ?? pictures }

  mutating func open(port: UInt16) {
    pictures = "http://127.0.0.1:\(port)/cdn/"
    forgetPages()
  }

  mutating func configure(_ change: (inout ReplayConfiguration) -> Void) {
    change(&configuration)
    forgetPages()
  }

  /// Takes the next step, and says which it was.
  mutating func advance() throws -> String? {
    guard let step = steps.first else { return nil }
    try update(step.change)
    steps.removeFirst()
    return step.name
  }

  /// The first entry that fits the page; it is used up.
  mutating func takeEntry(page: Int) -> ScriptEntry? {
    guard let index = script.firstIndex(where: { $0.page == nil || $0.page == page }) else { return nil }
    return script.remove(at: index)
  }

  /// The list shifts once, behind the page that the configuration names.
  mutating func shift(after page: Int) {
    guard configuration.shiftsAfterPage == page, !hasShifted else { return }
    hasShifted = true
    let number = (feed.ids.max() ?? 0) + 4_096
    feed.insert(
      DemoProduct(
        id: number, title: "Latecomer Mat", handle: "latecomer-mat",
        variants: [DemoVariant(id: number * 8, price: 4_900)]))
    forgetPages()
  }

  // MARK: Pages

  struct PageKey: Hashable {
    let range: Range<Int>
    let market: Market?
  }

  struct CachedPage {
    let bytes: [UInt8]
    var gzipped: [UInt8]?
    let tag: String
  }

  /// How many bytes of pages are kept before all are forgotten.
  private static let cacheLimit = 256 << 20

  private mutating func forgetPages() {
    pages = [:]
    cachedBytes = 0
  }

  private func range(page: Int, limit: Int) -> Range<Int> {
    let page = configuration.ignoresPage ? 1 : page
    let isPastEnd = configuration.lastPage.map { page > $0 } ?? false
    let (start, isTooFar) = (page - 1).multipliedReportingOverflow(by: limit)
    guard !isTooFar, !isPastEnd, start < feed.count, !configuration.emptyPages.contains(page) else { return 0..<0 }
    let end = min(start + limit, feed.count) - max(0, configuration.leftOut[page] ?? 0)
    return start..<max(start, end)
  }

  /// The bytes of a page, compressed if asked for and possible, and the tag of its content.
  mutating func page(
    _ page: Int, limit: Int, market: Market?, compressed: Bool
  ) -> (bytes: [UInt8], isCompressed: Bool, tag: String) {
    let key = PageKey(range: range(page: page, limit: limit), market: market)
    var cached =
      pages[key]
      ?? {
        let bytes = feed.bytes(of: feed.items[key.range], imageBase: imageBase)
        let quoted = market?.converted(bytes) ?? bytes
        return CachedPage(bytes: quoted, tag: "W/\"cacheable:\(checksum(quoted))\"")
      }()
    if compressed, cached.gzipped == nil { cached.gzipped = gzip(cached.bytes) }
    if cachedBytes > Self.cacheLimit { forgetPages() }
    if pages.updateValue(cached, forKey: key) == nil { cachedBytes += cached.bytes.count }
    if compressed, let gzipped = cached.gzipped { return (gzipped, true, cached.tag) }
    return (cached.bytes, false, cached.tag)
  }
}
