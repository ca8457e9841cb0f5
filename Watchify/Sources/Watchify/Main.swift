import CofferTerminal
import WatchifyCShims

/// The program `watchify`, which follows shops from the command line. Its commands are the cases of ``Command``.
@main
enum Watchify {
  static func main() async {
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
    case .resume: try await resume(invocation)
    case .products: try await listProducts(invocation)
    case .product: try await showProduct(invocation)
    case .activity: try await listActivity(invocation)
    case .read: try await markRead(invocation)
    case .notify: try await notify(invocation)
    case .settings: try await settings(invocation)
    case .export: try await exportHistory(invocation)
    case .doctor: try await examine(invocation)
    case .audit: try await audit(invocation)
    case .demo: try await showDemo(invocation)
    case .completions: try invocation.printCompletions()
    case .help: try invocation.explain()
    case .version: try invocation.printVersion()
    }
  }
}
