/// The state of a replay shop, which the server guards with a lock.
struct ShopState: Sendable {
  var feed: ShopFeed
  var configuration: ReplayConfiguration
  var steps: [ReplayTimeline.Step]
  /// The prefix of images drawn by this server, which depends on its port.
  private var pictures = ""
  var script: [ScriptEntry] = []
  /// The fault of every request, or of every list of a page; `nil` for none.
  var mode: ScriptEntry?
  private(set) var requests: [RequestRecord] = []
  private(set) var maximumInFlight = 0
  private var nextNumber = 0
  /// The numbers of the requests in progress.
  private var inFlight: Set<Int> = []
  private var hasShifted = false
  private var pages: [PageKey: CachedPage] = [:]
  private var cachedBytes = 0

  init(feed: ShopFeed, configuration: ReplayConfiguration, timeline: ReplayTimeline?) {
    self.feed = feed
    self.configuration = configuration
    steps = timeline?.steps ?? []
  }

  // MARK: The log

  /// The maximum number of logged requests; older ones are dropped.
  static let logLimit = 100_000

  mutating func arrive(_ request: ReplayRequest) -> RequestRecord {
    inFlight.insert(nextNumber)
    let count = inFlight.count
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

  mutating func leave(_ number: Int) { inFlight.remove(number) }

  mutating func forgetRequests() {
    requests = []
    maximumInFlight = 0
  }

  // MARK: Changes

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

  /// Applies the next step and returns its name; `nil` if there is none left.
  mutating func advance() throws -> String? {
    guard let step = steps.first else { return nil }
    try update(step.change)
    steps.removeFirst()
    return step.name
  }

  /// Removes and returns the first entry that matches the page.
  mutating func takeEntry(page: Int) -> ScriptEntry? {
    guard let index = script.firstIndex(where: { $0.page == nil || $0.page == page }) else { return nil }
    return script.remove(at: index)
  }

  /// Shifts the list once, after the page that the configuration names.
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

  /// The size in bytes above which the cache of pages is emptied.
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

  /// Returns the bytes of a page, compressed if requested and possible, and the tag of its content.
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
