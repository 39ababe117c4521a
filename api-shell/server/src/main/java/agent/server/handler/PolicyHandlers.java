package agent.server.handler;

import agent.contract.policy.LabelModel;
import agent.contract.policy.PolicyModel;
import agent.contract.policy.RuleModel;
import agent.contract.policy.SelectorModel;
import agent.endpoint.PolicyService;
import agent.identity.Label;
import agent.policy.PolicySnapshot;
import agent.policy.SelectorListing;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.Route;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.json.JsonMapper;

/** Routes of the policy: rules and selectors. */
public final class PolicyHandlers implements ApiHandler.Group {
  private final PolicyService policy;
  private final JsonMapper mapper = agent.contract.WireFormat.strictMapper();

  /**
   * Creates the handlers.
   *
   * @param policy the policy of this node
   */
  public PolicyHandlers(PolicyService policy) {
    this.policy = policy;
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.GET_POLICY, request -> answer(policy.get(labels(request))));
    handlers.put(
        Route.PUT_POLICY,
        request ->
            answer(
                ApiRequest.await(
                    policy.importRules(RuleCodec.decode(request.bodyList(RuleModel.class))))));
    handlers.put(
        Route.DELETE_POLICY,
        request -> answer(ApiRequest.await(policy.deleteRules(labels(request)))));
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
