package agent.server.handler;

import agent.contract.identity.IdentityInUseModel;
import agent.contract.identity.IdentityModel;
import agent.identity.Identity;
import agent.identity.IdentityAllocator;
import agent.identity.IdentityDirectory;
import agent.identity.IdentityDirectory.IdentityInUse;
import agent.identity.LabelPattern;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.Route;
import agent.types.Refusal;
import java.util.List;
import java.util.Map;

/** Routes of security identities. */
public final class IdentityHandlers implements ApiHandler.Group {
  private final IdentityAllocator endpointIdentities;
  private final IdentityDirectory identities;

  /**
   * Creates the handlers.
   *
   * @param endpointIdentities the identities of endpoints
   * @param cidrIdentities the identities of CIDRs
   */
  public IdentityHandlers(IdentityAllocator endpointIdentities, IdentityDirectory cidrIdentities) {
    this.endpointIdentities = endpointIdentities;
    identities = IdentityDirectory.union(endpointIdentities, cidrIdentities);
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.LIST_IDENTITIES, this::list);
    handlers.put(Route.GET_IDENTITY, this::get);
    handlers.put(Route.LIST_IDENTITIES_IN_USE, request -> inUse());
  }

  private Answer list(ApiRequest request) {
    final List<String> labels = request.labels().orElse(List.of());
    final List<LabelPattern> wanted = LabelPattern.parseAll("labels", labels);
    final List<Identity> found =
        identities.list().stream()
            .filter(identity -> wanted.stream().allMatch(label -> label.isMetBy(identity.labels())))
            .toList();
    if (found.isEmpty()) {
      throw Refusal.notFound("labels", "no identity has labels " + labels);
    }
    return Answer.streamedArray(found, IdentityHandlers::encode);
  }

  private Answer get(ApiRequest request) {
    final int number = request.pathNumber("id", "identity number");
    return identities
        .find(number)
        .map(identity -> Answer.ok(encode(identity)))
        .orElseThrow(() -> Refusal.notFound("id", "identity " + number + " does not exist"));
  }

  private Answer inUse() {
    final List<IdentityInUse> used = endpointIdentities.inUse();
    if (used.isEmpty()) {
      throw Refusal.notFound("", "no local endpoint has an identity");
    }
    return Answer.streamedArray(
        used, one -> new IdentityInUseModel(encode(one.identity()), (long) one.refCount()));
  }

  static IdentityModel encode(Identity identity) {
    return new IdentityModel(
        (long) identity.id(), identity.labels().toStrings(), identity.labelsSha256());
  }
}
