package agent.server.handler;

import agent.contract.policy.LabelModel;
import agent.contract.policy.PolicyModel;
import agent.contract.policy.RuleModel;
import agent.contract.policy.SelectorModel;
import agent.identity.Label;
import agent.policy.PolicySnapshot;
import agent.policy.SelectorListing;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.HandlerGroup;
import agent.server.Route;
import agent.server.view.PolicyView;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/** The rules and their selectors. */
public final class PolicyHandlers implements HandlerGroup {
  private final PolicyView policy;
  private final JsonMapper mapper = agent.contract.WireFormat.strictMapper();

  /**
   * Serves this.
   *
   * @param policy the rules
   */
  public PolicyHandlers(PolicyView policy) {
    this.policy = policy;
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.GET_POLICY, request -> answer(policy.rules(labels(request))));
    handlers.put(
        Route.PUT_POLICY,
        request ->
            answer(Futures.await(policy.add(RuleCodec.decode(request.bodyList(RuleModel.class))))));
    handlers.put(
        Route.DELETE_POLICY, request -> answer(Futures.await(policy.delete(labels(request)))));
    handlers.put(
        Route.LIST_SELECTORS,
        request -> Answer.streamedArray(policy.selectors(), PolicyHandlers::encode));
  }

  private static List<String> labels(ApiRequest request) {
    return request.labels().orElse(List.of());
  }

  private Answer answer(PolicySnapshot snapshot) {
    return Answer.ok(
        new PolicyModel(
            mapper.writeValueAsString(RuleCodec.encode(snapshot.rules())), snapshot.revision()));
  }

  private static SelectorModel encode(SelectorListing listing) {
    return new SelectorModel(
        listing.identities().stream().map(Integer::longValue).toList(),
        listing.labels().stream()
            .flatMap(List::stream)
            .distinct()
            .map(Label::parse)
            .map(label -> new LabelModel(label.key(), label.source(), label.value()))
            .toList(),
        listing.selector(),
        (long) listing.users());
  }
}
