package agent.policy;

import agent.datapath.spec.PolicyVerdict;
import agent.datapath.spec.RedirectedFlow;
import agent.maps.layout.PolicyDirection;
import agent.maps.layout.PolicyPrefix;
import agent.maps.layout.RedirectKind;
import agent.policy.request.HttpRequest;
import agent.policy.request.HttpRule;
import agent.policy.request.HttpVerdict;
import agent.policy.request.HttpVerdict.HeaderChange;
import agent.policy.request.PolicyRedirect;
import agent.policy.resolve.MapLookup;
import agent.policy.resolve.RequestSection;
import agent.policy.resolve.ResolvedPolicy;
import agent.policy.rule.NamePattern;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.agrona.collections.Int2ObjectHashMap;

/**
 * The policies of all endpoints for questions about requests of other threads. What a side says of
 * a flow is what its policy map says: a deny, no entry and an endpoint that is not known deny every
 * request, an allow allows every one, and a redirect those that a rule of requests for the peer and
 * port matches. The header changes of all rules that match add up.
 *
 * <p>Asking allocates only for changes, and for an expression that is too large for an automaton.
 */
final class PublishedPolicies implements PolicyFeed {
  private static final RedirectKind[] KINDS = RedirectKind.values();

  private final List<Follower> followers = new ArrayList<>();
  private volatile Snapshot snapshot = new Snapshot(0, new Int2ObjectHashMap<>());

  /** The policies by the id of the endpoint, which does not change. */
  private record Snapshot(long revision, Int2ObjectHashMap<ResolvedPolicy> policies) {
    /** Finds nothing for 0: no endpoint has this id. */
    ResolvedPolicy of(int endpoint) {
      return policies.get(endpoint);
    }
  }

  /** Publishes other policies of some endpoints. */
  synchronized void publish(long revision, Map<Integer, ResolvedPolicy> changed) {
    final Int2ObjectHashMap<ResolvedPolicy> copy = new Int2ObjectHashMap<>(snapshot.policies());
    copy.putAll(changed);
    snapshot = new Snapshot(revision, copy);
    followers.forEach(follower -> follower.onPublished(revision, changed));
  }

  /** Removes the policy of an endpoint. */
  synchronized void remove(int endpoint) {
    final Int2ObjectHashMap<ResolvedPolicy> copy = new Int2ObjectHashMap<>(snapshot.policies());
    copy.remove(endpoint);
    snapshot = new Snapshot(snapshot.revision(), copy);
    followers.forEach(follower -> follower.onRemoved(endpoint));
  }

  @Override
  public synchronized void follow(Follower follower) {
    follower.onPublished(snapshot.revision(), snapshot.policies());
    followers.add(follower);
  }

  @Override
  public synchronized void unfollow(Follower follower) {
    followers.remove(follower);
  }

  @Override
  public boolean mayAsk(int endpointId, String name) {
    final Snapshot now = snapshot;
    if (endpointId != 0) {
      return mayAsk(now.of(endpointId), PolicyDirection.EGRESS, name);
    }
    for (final ResolvedPolicy policy : now.policies().values()) {
      if (mayAsk(policy, PolicyDirection.INGRESS, name)) {
        return true;
      }
    }
    return false;
  }

  private static boolean mayAsk(ResolvedPolicy policy, PolicyDirection direction, String name) {
    return policy != null
        && policy.requests().stream()
            .filter(section -> section.direction() == direction)
            .anyMatch(section -> matches(section.rules().dns(), name));
  }

  @Override
  public long revision() {
    return snapshot.revision();
  }

  @Override
  public HttpVerdict http(RedirectedFlow flow, HttpRequest request) {
    final Snapshot now = snapshot;
    if (hasNoEndpoint(flow)) {
      return HttpVerdict.DENIED;
    }
    final HttpVerdict client =
        flow.clientEndpoint() == 0
            ? HttpVerdict.ALLOWED
            : http(now.of(flow.clientEndpoint()), PolicyDirection.EGRESS, flow, request);
    if (!client.allowed() || flow.serverEndpoint() == 0) {
      return client;
    }
    final HttpVerdict server =
        http(now.of(flow.serverEndpoint()), PolicyDirection.INGRESS, flow, request);
    return server.allowed() ? sum(client, server) : server;
  }

  @Override
  public boolean dns(RedirectedFlow flow, String name) {
    final Snapshot now = snapshot;
    return !hasNoEndpoint(flow)
        && (flow.clientEndpoint() == 0
            || dns(now.of(flow.clientEndpoint()), PolicyDirection.EGRESS, flow, name))
        && (flow.serverEndpoint() == 0
            || dns(now.of(flow.serverEndpoint()), PolicyDirection.INGRESS, flow, name));
  }

  @Override
  public boolean admits(RedirectedFlow flow) {
    final Snapshot now = snapshot;
    return !hasNoEndpoint(flow)
        && (flow.clientEndpoint() == 0
            || admits(now.of(flow.clientEndpoint()), PolicyDirection.EGRESS, flow))
        && (flow.serverEndpoint() == 0
            || admits(now.of(flow.serverEndpoint()), PolicyDirection.INGRESS, flow));
  }

  @Override
  public RedirectKind redirect(RedirectedFlow flow, PolicyDirection direction) {
    final int endpoint =
        direction == PolicyDirection.EGRESS ? flow.clientEndpoint() : flow.serverEndpoint();
    final PolicyVerdict verdict = verdict(snapshot.of(endpoint), direction, flow);
    return verdict == null ? RedirectKind.NONE : KINDS[verdict.redirect()];
  }

  @Override
  public List<PolicyRedirect> redirects(int endpointId) {
    final ResolvedPolicy policy = snapshot.of(endpointId);
    return policy == null ? List.of() : policy.redirects();
  }

  private static boolean hasNoEndpoint(RedirectedFlow flow) {
    return flow.clientEndpoint() == 0 && flow.serverEndpoint() == 0;
  }

  private static HttpVerdict sum(HttpVerdict client, HttpVerdict server) {
    if (client.changes().isEmpty() || server.changes().isEmpty()) {
      return client.changes().isEmpty() ? server : client;
    }
    final List<HeaderChange> changes = new ArrayList<>(client.changes());
    for (final HeaderChange change : server.changes()) {
      if (!changes.contains(change)) {
        changes.add(change);
      }
    }
    return new HttpVerdict(true, List.copyOf(changes));
  }

  private static HttpVerdict http(
      ResolvedPolicy policy, PolicyDirection direction, RedirectedFlow flow, HttpRequest request) {
    final PolicyVerdict verdict = verdict(policy, direction, flow);
    if (verdict == null || verdict.isDeny() || !verdict.isRedirect()) {
      return verdict == null || verdict.isDeny() ? HttpVerdict.DENIED : HttpVerdict.ALLOWED;
    }
    boolean isAllowed = false;
    List<HeaderChange> changes = List.of();
    final List<RequestSection> sections = policy.requests();
    for (int i = 0; i < sections.size(); i++) {
      final RequestSection section = sections.get(i);
      if (covers(section, direction, flow)) {
        final List<HttpRule> rules = section.rules().http();
        for (int j = 0; j < rules.size(); j++) {
          if (rules.get(j).allows(request)) {
            isAllowed = true;
            changes = rules.get(j).addChanges(request, changes);
          }
        }
      }
    }
    return !isAllowed
        ? HttpVerdict.DENIED
        : changes.isEmpty() ? HttpVerdict.ALLOWED : new HttpVerdict(true, List.copyOf(changes));
  }

  private static boolean dns(
      ResolvedPolicy policy, PolicyDirection direction, RedirectedFlow flow, String name) {
    final PolicyVerdict verdict = verdict(policy, direction, flow);
    if (verdict == null || verdict.isDeny() || !verdict.isRedirect()) {
      return verdict != null && !verdict.isDeny();
    }
    final List<RequestSection> sections = policy.requests();
    for (int i = 0; i < sections.size(); i++) {
      final RequestSection section = sections.get(i);
      if (covers(section, direction, flow) && matches(section.rules().dns(), name)) {
        return true;
      }
    }
    return false;
  }

  private static boolean admits(
      ResolvedPolicy policy, PolicyDirection direction, RedirectedFlow flow) {
    final PolicyVerdict verdict = verdict(policy, direction, flow);
    return verdict != null && !verdict.isDeny();
  }

  private static boolean matches(List<NamePattern> patterns, String name) {
    for (int i = 0; i < patterns.size(); i++) {
      if (patterns.get(i).matchesWithoutDot(name)) {
        return true;
      }
    }
    return false;
  }

  private static boolean covers(
      RequestSection section, PolicyDirection direction, RedirectedFlow flow) {
    return section.covers(direction, peer(direction, flow), flow.protocol(), flow.serverPort());
  }

  private static int peer(PolicyDirection direction, RedirectedFlow flow) {
    return direction == PolicyDirection.INGRESS ? flow.clientIdentity() : flow.serverIdentity();
  }

  private static PolicyVerdict verdict(
      ResolvedPolicy policy, PolicyDirection direction, RedirectedFlow flow) {
    return policy == null
        ? null
        : MapLookup.verdict(
            policy.entries(),
            direction,
            peer(direction, flow),
            flow.protocol(),
            flow.serverPort(),
            PolicyPrefix.PORT);
  }
}
