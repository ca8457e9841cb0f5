public import CofferCore
public import Foundation

/// A test suite of the storage contract, for authors of engines and adapters.
///
/// It does not depend on a test framework: a check that fails throws a ``StorageConformance/Failure``. With Swift
/// Testing, each check is a separate test case:
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
/// With any other test framework, run all checks at once:
///
/// ```swift
/// let report = try await conformance.run()
/// print(report)  // what passed, what was skipped and why
/// ```
///
/// The engine's `StoreCapabilities` determine which checks apply: every declared feature is tested, and operations that
/// need an undeclared one must be refused with `StorageError` `.unsupported`.
public struct StorageConformance: Sendable {
  /// The location of a store under test. Opening a location again opens the same store; every check uses a new one.
  public struct Location: Hashable, Sendable {
    /// The identifier of the store.
    public let id: UUID
    /// A directory for this store only, empty at first and removed after the check. Engines without files ignore it.
    public let directory: URL
    /// The largest value that the store should accept, in bytes; `nil` for the engine's own limit. Apply it if the
    /// engine's limit is configurable: the checks of the limit are skipped if it is too large to exceed cheaply.
    public let maximumValueSize: Int?
  }

  /// How the suite obtains a second handle on the same store.
  public enum Handles: Sendable {
    /// Use the same engine with another origin, if the store cannot be opened twice.
    case shareEngine
    /// Open another engine at the same location while the first is open.
    case openAgain
  }

  /// The properties of the tested engine that its capabilities do not declare.
  public struct Options: Sendable {
    /// How the suite obtains a second handle.
    public var handles: Handles
    /// The number of commits of one key after which the journal no longer holds the first of them; `nil` skips the
    /// check. The journal must hold at least 16 commits.
    public var commitsToOutrunJournal: Int?
    /// The number of commits by which a new store is prepared before it is opened, such as one with a key ring; 0 by
    /// default. They change no values.
    public var commitsAtCreation: Int
    /// Makes the store at a location unreachable (`isCut`) or reachable again: stops the server, locks the keyring,
    /// disconnects the network. While it is unreachable, reads must throw `unavailable`. `nil` skips the checks.
    ///
    /// ```swift
    /// options.interrupt = { _, isCut in if isCut { try server.stop() } else { try server.start() } }
    /// ```
    public var interrupt: (@Sendable (_ location: Location, _ isCut: Bool) async throws -> Void)?
    /// The time that a check waits for an expected event; 60 seconds by default. It is reached only if a check fails.
    public var deadline: Duration
    /// The size of the large value, in bytes; 16 MiB by default.
    public var largeValueSize: Int
    /// The number of operations in the large batch, 2,000 by default. Reduce it for a store that needs milliseconds for
    /// each operation.
    public var largeBatchSteps: Int
    /// The directory in which the directories of the locations are created.
    public var temporaryDirectory: URL

    /// Creates options, with defaults for an engine that cannot be opened twice or made unreachable.
    public init(
      handles: Handles = .shareEngine, commitsToOutrunJournal: Int? = nil, commitsAtCreation: Int = 0,
      deadline: Duration = .seconds(60),
      largeValueSize: Int = 16 << 20, largeBatchSteps: Int = 2_000,
      temporaryDirectory: URL = FileManager.default.temporaryDirectory,
      interrupt: (@Sendable (_ location: Location, _ isCut: Bool) async throws -> Void)? = nil
    ) {
      self.handles = handles
      self.commitsToOutrunJournal = commitsToOutrunJournal
      self.commitsAtCreation = commitsAtCreation
      self.deadline = deadline
      self.largeValueSize = largeValueSize
      self.largeBatchSteps = largeBatchSteps
      self.temporaryDirectory = temporaryDirectory
      self.interrupt = interrupt
    }
  }

  /// The outcome of a check that did not fail.
  public enum Outcome: Hashable, Sendable {
    /// The engine conforms to the rule that the check tests.
    case passed
    /// The check does not apply. `reason` is a sentence that states why.
    case skipped(reason: String)
  }

  typealias Open = @Sendable (Location) async throws -> any StorageEngine
  typealias MakeAdapter = @Sendable (Location) async throws -> any StorageAdapter

  /// The name of the tested engine or adapter in messages.
  public let name: String
  /// The options of the suite.
  public let options: Options
  let open: Open
  let makeAdapter: MakeAdapter?

  /// Creates a suite for an engine.
  /// - Parameters:
  ///   - name: the name of the engine in messages.
  ///   - options: the properties of the engine that its capabilities do not declare.
  ///   - open: opens the store at a location, creating it if there is none.
  public init(
    name: String, options: Options = Options(),
    open: @escaping @Sendable (Location) async throws -> any StorageEngine
  ) {
    self.name = name
    self.options = options
    self.open = open
    makeAdapter = nil
  }

  /// Creates a suite for a four-method adapter, which is tested through `AdapterEngine`.
  ///
  /// ```swift
  /// try await StorageConformance(name: "redis") { _ in RedisAdapter(database: 7, empty: true) }.run()
  /// ```
  /// - Parameters:
  ///   - name: the name of the adapter in messages.
  ///   - options: the properties of the adapter that cannot be determined from it.
  ///   - adapter: creates an adapter for the store at a location.
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
  /// Returns a suite that tests the same engine behind a decorator.
  ///
  /// ```swift
  /// try await conformance.decorated { CountingEngine($0) }.run()
  /// ```
  /// - Parameter decorate: wraps the engine. It is called each time that the store is opened.
  public func decorated(
    _ decorate: @escaping @Sendable (any StorageEngine) async throws -> any StorageEngine
  ) -> StorageConformance {
    StorageConformance(name: "\(name), decorated", options: options) { [open] in try await decorate(open($0)) }
  }
}

extension StorageConformance {
  /// All checks, in the order in which ``run()`` runs them.
  public static let checks: [Check] = [
    ValueChecks.all, KeyChecks.all, BatchChecks.all, PreconditionChecks.all, ListingChecks.all, SnapshotChecks.all,
    ChangeChecks.all, JournalChecks.all, HandleChecks.all, ConcurrencyChecks.all, ClosingChecks.all,
    PersistenceChecks.all, AttributeChecks.all, ExpiryChecks.all, RecordChecks.all, InterruptionChecks.all,
    RefusalChecks.all, SecrecyChecks.all, PropertyListChecks.all,
  ].flatMap { $0 }

  /// Returns the check with the given name, or `nil` if there is none.
  public static func check(named name: String) -> Check? { checks.first { $0.name == name } }

  /// Runs every check.
  /// - Throws: ``StorageConformance/Failures`` if at least one check fails, after all have run.
  @discardableResult
  public func run() async throws -> StorageConformance.Report {
    let report = try await report()
    guard report.failures.isEmpty else { throw StorageConformance.Failures(report: report) }
    return report
  }

  /// Runs every check and returns the outcome of each.
  /// - Throws: `CancellationError` if the task is cancelled.
  public func report() async throws -> StorageConformance.Report {
    var report = StorageConformance.Report(name: name)
    for check in Self.checks {
      try Task.checkCancellation()
      do {
        switch try await run(check) {
        case .passed: report.passed.append(check)
        case .skipped(let reason): report.skipped.append(.init(check: check, reason: reason))
        }
      } catch let failure as StorageConformance.Failure {
        report.failures.append(failure)
      }
    }
    return report
  }

  /// Runs the check with the given name.
  /// - Throws: ``StorageConformance/Failure``, also if there is no such check.
  @discardableResult
  public func run(named name: String) async throws -> Outcome {
    guard let check = Self.check(named: name) else {
      throw StorageConformance.Failure(
        subject: self.name, check: name, sentence: "Expected one of StorageConformance.checks; there is no such check.",
        file: #fileID, line: #line)
    }
    return try await run(check)
  }

  /// Runs one check on a new, empty store.
  /// - Throws: ``StorageConformance/Failure``; `CancellationError` if the task is cancelled.
  @discardableResult
  public func run(_ check: Check) async throws -> Outcome {
    let bench = Bench(self, check: check)
    defer { bench.removeDirectory() }
    do {
      try bench.makeDirectory()
      // A call that never returns is abandoned, so that it fails this check rather than block the whole run.
      try await withDeadline(options.deadline * 6, "the check to end (a call of the engine did not return)") {
        try await bench.run()
      }
      return .passed
    } catch let skip as Skip {
      return .skipped(reason: skip.reason)
    } catch let unmet as Unmet {
      throw StorageConformance.Failure(
        subject: name, check: check.name, sentence: unmet.sentence, file: unmet.file, line: unmet.line)
    } catch  where !Task.isCancelled {
      throw StorageConformance.Failure(
        subject: name, check: check.name, sentence: "Expected no error; got this one: \(error)", file: check.file,
        line: check.line)
    }
  }
}
