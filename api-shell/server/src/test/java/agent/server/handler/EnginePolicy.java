package agent.server.handler;

import agent.endpoint.PolicyService;
import agent.identity.LocalIdentityAllocator;
import agent.policy.PolicyChange;
import agent.policy.PolicyCommit;
import agent.policy.PolicyContext;
import agent.policy.PolicyEngine;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.PolicySnapshot;
import agent.policy.resolve.EnforcementMode;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.types.IpAddress;
import agent.types.ServiceName;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;

/** The real rules of a node without endpoints. */
final class EnginePolicy implements PolicyService {
  private final PolicyEngine engine =
      PolicyEngine.open(new PolicyContext().identities(new LocalIdentityAllocator()).conclude());

  @Override
  public CompletableFuture<PolicySnapshot> change(PolicyChange change) {
    final PolicyCommit.Result result =
        engine.commit(List.of(change)).getFirst().results().getFirst();
    return result.refusal() == null
        ? CompletableFuture.completedFuture(result.rules())
        : CompletableFuture.failedFuture(result.refusal());
  }

  @Override
  public PolicySnapshot get(List<String> labels) {
    return labels.isEmpty() ? engine.snapshot() : engine.snapshot(labels);
  }

  @Override
  public PolicyTrace trace(PolicyQuery query) {
    return engine.trace(query);
  }

  @Override
  public CompletableFuture<Void> names(Map<String, ? extends Collection<IpAddress>> changed) {
    throw new UnsupportedOperationException();
  }

  @Override
  public CompletableFuture<Void> services(
      Map<ServiceName, ? extends Collection<IpAddress>> changed) {
    throw new UnsupportedOperationException();
  }

  @Override
  public Set<String> wantedNames() {
    throw new UnsupportedOperationException();
  }

  @Override
  public EnforcementMode mode() {
    return engine.mode();
  }

  @Override
  public List<SelectorListing> selectors() {
    return engine.selectors();
  }
}
