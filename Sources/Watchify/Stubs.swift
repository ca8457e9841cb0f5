import CofferTerminal
func examine(_ i: Invocation) async throws -> ExitStatus { .ok }
func showDemo(_ i: Invocation) async throws -> ExitStatus { .ok }
