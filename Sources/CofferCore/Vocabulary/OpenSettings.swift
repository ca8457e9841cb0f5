/// The settings that every kind of store has. The configurations of engines embed them, and have their members:
///
/// ```swift
/// var configuration = SQLiteEngine.Configuration()
/// configuration.access = .readOnly
/// configuration.common = settings  // all of them
/// ```
public struct OpenSettings: Sendable {
  /// Whether a missing store is created, in PostgreSQL with its tables; otherwise opening it throws `notFound`. A
  /// missing journal beside files or preferences is always created.
  public var createsIfMissing: Bool
  /// The access with which the store is opened. By default, a store that cannot be written is opened for reading only.
  /// For `.readOnly`, it must have a format that can be read without an upgrade.
  public var access: StoreAccess
  /// The clock that dates the commits in the journal and by which values expire.
  public var clock: StoreClock
  /// The hook for logging and metrics; none by default.
  ///
  /// A handle tells its openings and commits to the hook of its own configuration. What handles of one SQLite file or
  /// PostgreSQL store share (checkpoints, waiting for locks, damage, availability, sweeps) is told to that of the
  /// handle that opened it first.
  public var events: CofferEvents?
  /// A handler that is called once for each damaged value that is found. The bytes are kept in the quarantine.
  public var onDamage: (@Sendable (DamageReport) -> Void)?

  /// Creates the settings.
  public init(
    createsIfMissing: Bool = true, access: StoreAccess = .readWriteOrReadOnly, clock: StoreClock = .system,
    events: CofferEvents? = nil, onDamage: (@Sendable (DamageReport) -> Void)? = nil
  ) {
    (self.createsIfMissing, self.access, self.clock) = (createsIfMissing, access, clock)
    (self.events, self.onDamage) = (events, onDamage)
  }

  /// Passes a report of damage, of which there is one for each damaged value or file, to the handlers.
  package func emit(_ report: DamageReport) {
    events?.emitLater(report.location, .damaged(report))
    onDamage?(report)
  }
}
