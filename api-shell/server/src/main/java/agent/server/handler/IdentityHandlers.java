package agent.server.handler;

import agent.contract.identity.IdentityInUseModel;
import agent.contract.identity.IdentityModel;
import agent.identity.Identity;
import agent.identity.IdentityAllocator;
import agent.identity.IdentityInUse;
import agent.identity.Label;
import agent.identity.LabelSet;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.HandlerGroup;
import agent.server.Route;
import agent.types.Refusal;
import java.util.List;
import java.util.Map;

/** Security identities. */
public final class IdentityHandlers implements HandlerGroup {
  private static final String NUMBER = "[0-9]{1,10}";

  private final IdentityAllocator identities;

  /**
   * Serves these.
   *
   * @param identities the identities
   */
  public IdentityHandlers(IdentityAllocator identities) {
    this.identities = identities;
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.LIST_IDENTITIES, this::list);
    handlers.put(Route.GET_IDENTITY, this::get);
    handlers.put(Route.LIST_IDENTITIES_IN_USE, request -> inUse());
  }

  private Answer list(ApiRequest request) {
    final LabelSet wanted = LabelSet.parse("labels", request.labels().orElse(List.of()));
    final List<Identity> found =
        identities.list().stream()
            .filter(identity -> wanted.asList().stream().allMatch(label -> has(identity, label)))
            .toList();
    if (found.isEmpty()) {
      throw Refusal.notFound("labels", "no identity has " + wanted);
    }
    return Answer.streamedArray(found, IdentityHandlers::encode);
  }

  /** A label without a source is met by one of any source. */
  private static boolean has(Identity identity, Label wanted) {
    return identity.labels().asList().stream()
        .anyMatch(
            label ->
                (wanted.source().equals(Label.UNSPECIFIED)
                        || wanted.source().equals(label.source()))
                    && wanted.key().equals(label.key())
                    && wanted.value().equals(label.value()));
  }

  private Answer get(ApiRequest request) {
    final String text = request.path("id");
    final long number = text.matches(NUMBER) ? Long.parseLong(text) : 0;
    if (number < 1 || number > Integer.MAX_VALUE) {
      throw Refusal.invalid("id", "'" + text + "' is not the number of an identity");
    }
    return identities
        .find((int) number)
        .map(identity -> Answer.ok(encode(identity)))
        .orElseThrow(() -> Refusal.notFound("id", "there is no identity " + number));
  }

  private Answer inUse() {
    final List<IdentityInUse> used = identities.inUse();
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
