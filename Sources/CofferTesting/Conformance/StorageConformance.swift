public import CofferCore
public import Foundation

/// Tests that an engine or an adapter keeps every promise of the storage contract. For people who write one.
///
/// It belongs to no test framework: a check that fails throws a ``ConformanceFailure``. With Swift Testing each check
/// shows as a case of its own:
///
/// ```swift
/// @Test(arguments: StorageConformance.checks)
/// func conforms(_ check: StorageConformance.Check) async throws {
///   let conformance = StorageConformance(name: "mine") { location in
///     try await MyEngine(directory: location.directory, maximumValueSize: location.maximumValueSize)
///   }
///   try await conformance.run(check)
/// }
/// ```
///
/// Or everything at once, in whatever runs your tests:
///
/// ```swift
/// let report = try await conformance.run()
/// print(report)  // what passed, what was skipped and why
/// ```
///
/// Which checks apply is read from the engine's `StoreCapabilities`: a declared promise is tested, and what is
/// not declared must be refused with `StorageError` `.unsupported`.
public struct StorageConformance: Sendable {
  /// Where a store is. The same location opened again is the same store; every check gets a new one.
  public struct Location: Hashable, Sendable {
    /// The store's own identifier.
    public let id: UUID
    /// An empty directory of its own, removed after the check. Engines that need no files ignore it.
    public let directory: URL
    /// The largest value that the store shall take; `nil` for the engine's own limit. Honour it if the engine can be
    /// told one: the checks of the limit are skipped where the limit is too large to exceed cheaply.
    public let maximumValueSize: Int?
  }

  /// What a second handle on the same store is.
  public enum Handles: Sendable {
    /// The same engine with another origin: nothing else can reach the store.
    case shareEngine
    /// Another engine, opened at the same location while the first is open.
    case openAgain
  }

  /// What the suite must know of its subject beyond the engine's capabilities.
  public struct Options: Sendable {
    /// What a second handle is.
    public var handles: Handles
    /// How many commits of one key make the journal forget the first of them; `nil` skips the check of that. The
    /// journal must remember at least 16.
    public var commitsToOutrunJournal: Int?
    /// Cuts the way to the store at a location (`isCut`), or brings it back: stops the server, locks the keyring, takes
    /// the network away. While it is cut reads must throw `unavailable`. `nil` skips the checks of that.
    ///
    /// ```swift
    /// options.interrupt = { _, isCut in if isCut { try server.stop() } else { try server.start() } }
    /// ```
    public var interrupt: (@Sendable (_ location: Location, _ isCut: Bool) async throws -> Void)?
    /// How long a check waits for something that must happen. It only matters for an engine that is broken.
    public var deadline: Duration
    /// The size of the large value, in bytes.
    public var largeValueSize: Int
    /// How many steps the large batch has: fewer for a store that takes milliseconds for each.
    public var largeBatchSteps: Int
    /// Where the locations' directories are made.
    public var temporaryDirectory: URL

    /// The usual options.
    public init(
      handles: Handles = .shareEngine, commitsToOutrunJournal: Int? = nil, deadline: Duration = .seconds(60),
      largeValueSize: Int = 16 << 20, largeBatchSteps: Int = 2_000,
      temporaryDirectory: URL = FileManager.default.temporaryDirectory,
      interrupt: (@Sendable (_ location: Location, _ isCut: Bool) async throws -> Void)? = nil
    ) {
      self.handles = handles
      self.commitsToOutrunJournal = commitsToOutrunJournal
      self.deadline = deadline
      self.largeValueSize = largeValueSize
      self.largeBatchSteps = largeBatchSteps
      self.temporaryDirectory = temporaryDirectory
      self.interrupt = interrupt
    }
  }

  /// How a check ended that did not fail.
  public enum Outcome: Hashable, Sendable {
    /// The promise is kept.
    case passed
    /// The check does not apply, for this reason.
    case skipped(reason: String)
  }

  typealias Open = @Sendable (Location) async throws -> any StorageEngine
  typealias MakeAdapter = @Sendable (Location) async throws -> any StorageAdapter

  /// What messages call the subject.
  public let name: String
  /// What the suite was told of its subject.
  public let options: Options
  let open: Open
  let makeAdapter: MakeAdapter?

  /// The suite for an engine.
  /// - Parameters:
  ///   - name: what messages call it.
  ///   - options: what the suite must know of it.
  ///   - open: opens the store at a location, making it when there is none.
  public init(
    name: String, options: Options = Options(),
    open: @escaping @Sendable (Location) async throws -> any StorageEngine
  ) {
    self.name = name
    self.options = options
    self.open = open
    makeAdapter = nil
  }

  /// The suite for a four-method adapter, lifted by `AdapterEngine`.
  ///
  /// ```swift
  /// try await StorageConformance(name: "redis") { _ in RedisAdapter(database: 7, empty: true) }.run()
  /// ```
  /// - Parameters:
  ///   - name: what messages call it.
  ///   - options: what the suite must know of it.
  ///   - adapter: makes an adapter over the store at a location.
  public init(
    name: String = "adapter", options: Options = Options(),
    adapter: @escaping @Sendable (Location) async throws -> any StorageAdapter
  ) {
    self.name = name
    self.options = options
    open = { location in AdapterEngine(try await adapter(location), name: name) }
    makeAdapter = adapter
  }
}

extension StorageConformance {
  /// The same suite with something in front of the engine, such as a decorator.
  ///
  /// ```swift
  /// try await conformance.decorated { CountingEngine($0) }.run()
  /// ```
  /// - Parameter decorate: puts it there, each time that the store was opened.
  public func decorated(
    _ decorate: @escaping @Sendable (any StorageEngine) async throws -> any StorageEngine
  ) -> StorageConformance {
    StorageConformance(name: "\(name), decorated", options: options) { [open] in try await decorate(open($0)) }
  }
}

extension StorageConformance {
  /// Every check, in the order in which ``run()`` runs them.
  public static let checks: [Check] = [
    ValueChecks.all, KeyChecks.all, BatchChecks.all, PreconditionChecks.all, ListingChecks.all, SnapshotChecks.all,
    ChangeChecks.all, JournalChecks.all, HandleChecks.all, ConcurrencyChecks.all, ClosingChecks.all,
    PersistenceChecks.all, AttributeChecks.all, RecordChecks.all, InterruptionChecks.all, RefusalChecks.all,
  ].flatMap { $0 }

  /// The check of that name.
  public static func check(named name: String) -> Check? { checks.first { $0.name == name } }

  /// Runs every check.
  /// - Throws: ``ConformanceFailures`` when at least one fails, after all have run.
  @discardableResult
  public func run() async throws -> ConformanceReport {
    let report = try await report()
    guard report.failures.isEmpty else { throw ConformanceFailures(report: report) }
    return report
  }

  /// Runs every check and says how each ended.
  /// - Throws: `CancellationError` when the task was cancelled.
  public func report() async throws -> ConformanceReport {
    var report = ConformanceReport(name: name)
    for check in Self.checks {
      try Task.checkCancellation()
      do {
        switch try await run(check) {
        case .passed: report.passed.append(check)
        case .skipped(let reason): report.skipped.append(.init(check: check, reason: reason))
        }
      } catch let failure as ConformanceFailure {
        report.failures.append(failure)
      }
    }
    return report
  }

  /// Runs the check of that name.
  /// - Throws: ``ConformanceFailure``, also when there is no such check.
  @discardableResult
  public func run(named name: String) async throws -> Outcome {
    guard let check = Self.check(named: name) else {
      throw ConformanceFailure(
        subject: self.name, check: name, sentence: "Expected one of StorageConformance.checks; there is no such check.",
        file: #fileID, line: #line)
    }
    return try await run(check)
  }

  /// Runs one check on a new, empty store.
  /// - Throws: ``ConformanceFailure``; `CancellationError` when the task was cancelled.
  @discardableResult
  public func run(_ check: Check) async throws -> Outcome {
    let bench = Bench(self, check: check)
    defer { bench.removeDirectory() }
    do {
      try bench.makeDirectory()
      // A call that never returns is left behind, so that it fails this check and not the whole run.
      try await withDeadline(options.deadline * 6, "the check to end (a call of the engine did not return)") {
        try await bench.run()
      }
      return .passed
    } catch let skip as Skip {
      return .skipped(reason: skip.reason)
    } catch let unmet as Unmet {
      throw ConformanceFailure(
        subject: name, check: check.name, sentence: unmet.sentence, file: unmet.file, line: unmet.line)
    } catch  where !Task.isCancelled {
      throw ConformanceFailure(
        subject: name, check: check.name, sentence: "Expected no error; got this one: \(error)", file: check.file,
        line: check.line)
    }
  }
}
