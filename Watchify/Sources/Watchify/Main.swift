import CofferTerminal
import WatchifyCShims
import WatchifyKit

/// The program `watchify`, which follows shops from the command line. Its commands are the cases of ``Command``.
@main
enum Watchify {
  /// What a service manager has passed to this process.
  static let service = ServiceEnvironment.take()

  static func main() async {
    _ = service  // Taken before there are threads that could read the environment meanwhile.
    watchify_share_heap()
    await Command.main(run)
  }

  private static func run(_ invocation: Invocation) async throws -> ExitStatus {
    switch invocation.command {
    case .add: try await addStore(invocation)
    case .list: try await listStores(invocation)
    case .edit: try await editStore(invocation)
    case .remove: try await removeStore(invocation)
    case .sync: try await syncStores(invocation)
    case .watch: try await watchStores(invocation)
    case .serve: try await serve(invocation)
    case .resume: try await resume(invocation)
    case .products: try await listProducts(invocation)
    case .product: try await showProduct(invocation)
    case .wish: try await handleWishes(invocation)
    case .activity: try await listActivity(invocation)
    case .read: try await markRead(invocation)
    case .feed: try await printFeed(invocation)
    case .notify: try await notify(invocation)
    case .settings: try await settings(invocation)
    case .export: try await exportHistory(invocation)
    case .doctor: try await examine(invocation)
    case .audit: try await audit(invocation)
    case .service: try await manageService(invocation)
    case .demo: try await showDemo(invocation)
    case .completions: try invocation.printCompletions()
    case .help: try invocation.explain()
    case .version: try invocation.printVersion()
    }
  }
}
