package agent.server.handler;

import agent.contract.policy.LabelModel;
import agent.contract.policy.PolicyResolutionModel;
import agent.contract.policy.PolicyResolutionRequest;
import agent.contract.policy.RuleModel;
import agent.contract.policy.SelectorModel;
import agent.endpoint.PolicyService;
import agent.identity.Label;
import agent.identity.LabelSet;
import agent.policy.PolicyChange;
import agent.policy.read.RuleCheck;
import agent.policy.reference.SelectorListing;
import agent.policy.repository.PolicySnapshot;
import agent.policy.repository.Replacement;
import agent.policy.spec.RuleSpec;
import agent.policy.trace.PolicyQuery;
import agent.policy.trace.PolicyTrace;
import agent.server.Answer;
import agent.server.ApiHandler;
import agent.server.ApiRequest;
import agent.server.Route;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Routes of the policy: rules and selectors. */
public final class PolicyHandlers implements ApiHandler.Group {
  private final PolicyService policy;
  private final PolicyDocument document;
  private final boolean keepsSlashes;

  /**
   * Creates the handlers.
   *
   * @param policy the policy of this node
   * @param keepsSlashes whether the proxy judges paths with their escaped slashes
   */
  public PolicyHandlers(PolicyService policy, boolean keepsSlashes) {
    this.policy = policy;
    this.keepsSlashes = keepsSlashes;
    document = new PolicyDocument(policy);
  }

  @Override
  public void addTo(Map<Route, ApiHandler> handlers) {
    handlers.put(Route.GET_POLICY, this::get);
    handlers.put(Route.PUT_POLICY, this::put);
    handlers.put(Route.DELETE_POLICY, this::delete);
    handlers.put(Route.RESOLVE_POLICY, this::resolve);
    handlers.put(
        Route.LIST_SELECTORS,
        request -> Answer.streamedArray(policy.selectors(), PolicyHandlers::encode));
  }

  private Answer get(ApiRequest request) {
    final List<String> labels = request.labels().orElse(List.of());
    return document.answer(policy.get(labels), labels);
  }

  private Answer put(ApiRequest request) throws Exception {
    final Replacement replacement =
        Replacement.of(request.querySwitch("replace"), request.queryAll("replace-with-labels"));
    final List<RuleSpec> rules = RuleCodec.decode(request.bodyList(RuleModel.class));
    final PolicySnapshot result =
        ApiRequest.await(policy.change(PolicyChange.add(rules, replacement)));
    final List<String> warnings = new ArrayList<>();
    for (int i = 0; i < rules.size(); i++) {
      warnings.addAll(RuleCheck.warnings(i, rules.get(i), keepsSlashes));
    }
    return document.answer(result, List.of(), warnings);
  }

  private Answer delete(ApiRequest request) throws Exception {
    final Optional<List<String>> labels = request.labels();
    if (labels.isPresent() && labels.get().isEmpty()) {
      throw ApiRequest.badBody("labels", "is an empty array; omit the labels to delete all rules");
    }
    return document.answer(
        ApiRequest.await(policy.change(PolicyChange.delete(labels.orElse(List.of())))), List.of());
  }

  private Answer resolve(ApiRequest request) {
    final PolicyTrace trace = policy.trace(decode(request.body(PolicyResolutionRequest.class)));
    return Answer.ok(
        new PolicyResolutionModel(trace.log(), trace.isAllowed() ? "ALLOWED" : "DENIED"));
  }

  private static PolicyQuery decode(PolicyResolutionRequest request) {
    if (request.from() == null || request.to() == null) {
      throw ApiRequest.badBody(request.from() == null ? "from" : "to", "is missing");
    }
    final List<PolicyQuery.Port> ports = new ArrayList<>();
    for (final PolicyResolutionRequest.Port port : listOf(request.to().dports())) {
      final String field = "to.dports[" + ports.size() + "]";
      final boolean isNamed = port.name() != null && !port.name().isEmpty();
      if (isNamed && port.port() != null) {
        throw ApiRequest.badBody(field + ".name", "cannot be combined with a port number");
      }
      ports.add(
          isNamed
              ? PolicyQuery.Port.named(field, port.name(), port.protocol())
              : PolicyQuery.Port.of(field, port.port(), port.protocol()));
    }
    return new PolicyQuery(
        LabelSet.parse("from.labels", listOf(request.from().labels())),
        LabelSet.parse("to.labels", listOf(request.to().labels())),
        ports,
        Boolean.TRUE.equals(request.verbose()));
  }

  private static <T> List<T> listOf(List<T> values) {
    return values == null ? List.of() : values;
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
