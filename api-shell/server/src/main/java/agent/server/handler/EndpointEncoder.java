package agent.server.handler;

import static agent.server.handler.NodeEncoder.text;

import agent.contract.WireFormat;
import agent.contract.daemon.ControllerModel;
import agent.contract.endpoint.EndpointConfigurationModel;
import agent.contract.endpoint.EndpointConfigurationSpecModel;
import agent.contract.endpoint.EndpointHealthModel;
import agent.contract.endpoint.EndpointIdentifiersModel;
import agent.contract.endpoint.EndpointLabelsModel;
import agent.contract.endpoint.EndpointLogEntryModel;
import agent.contract.endpoint.EndpointModel;
import agent.contract.endpoint.EndpointNetworkingModel;
import agent.contract.endpoint.EndpointPolicyModel;
import agent.contract.endpoint.EndpointStatusModel;
import agent.contract.endpoint.LabelConfigurationModel;
import agent.contract.ipam.AddressPairModel;
import agent.endpoint.state.ControllerStatus;
import agent.endpoint.state.EndpointAddressing;
import agent.endpoint.state.EndpointHealth;
import agent.endpoint.state.EndpointLabels;
import agent.endpoint.state.EndpointNetworking;
import agent.endpoint.state.EndpointPolicyStatus;
import agent.endpoint.state.EndpointSnapshot;
import agent.endpoint.state.ExternalIdentifiers;
import agent.policy.resolve.DirectionSummary;
import agent.policy.rule.DerivedRule;
import agent.server.view.ProxyView.EndpointTraffic;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** Converts endpoints to the records of the contract. */
final class EndpointEncoder {
  private EndpointEncoder() {}

  static EndpointModel endpoint(EndpointSnapshot endpoint, EndpointTraffic traffic) {
    final EndpointLabels labels = endpoint.labels();
    return new EndpointModel(
        endpoint.id(),
        endpoint.source().text(),
        settings(labels.user(), endpoint.options()),
        status(endpoint, traffic));
  }

  private static EndpointStatusModel status(EndpointSnapshot endpoint, EndpointTraffic traffic) {
    return new EndpointStatusModel(
        endpoint.controllers().stream().map(EndpointEncoder::controller).toList(),
        identifiers(endpoint.externalIdentifiers()),
        health(endpoint),
        endpoint.identity() == null ? null : IdentityHandlers.encode(endpoint.identity()),
        labelStatus(endpoint.labels()),
        log(endpoint),
        endpoint.namedPorts().stream()
            .map(p -> new EndpointStatusModel.NamedPort(p.name(), p.port(), p.protocol()))
            .toList(),
        networking(endpoint.networking()),
        new EndpointPolicyModel(
            traffic.policyRevision(),
            traffic.statistics(),
            policy(endpoint.realizedPolicy()),
            policy(endpoint.policy())),
        settings(endpoint.labels().realizedUser(), endpoint.realizedOptions()),
        endpoint.state().text());
  }

  private static EndpointConfigurationSpecModel settings(
      List<String> userLabels, Map<String, String> options) {
    return new EndpointConfigurationSpecModel(new LabelConfigurationModel(userLabels), options);
  }

  static EndpointConfigurationModel configuration(EndpointSnapshot endpoint) {
    return new EndpointConfigurationModel(
        endpoint.error(),
        Map.of(),
        settings(endpoint.labels().realizedUser(), endpoint.realizedOptions()));
  }

  static EndpointLabelsModel labels(EndpointSnapshot endpoint) {
    return new EndpointLabelsModel(
        new LabelConfigurationModel(endpoint.labels().user()), labelStatus(endpoint.labels()));
  }

  private static EndpointLabelsModel.Status labelStatus(EndpointLabels labels) {
    return new EndpointLabelsModel.Status(
        labels.derived(),
        labels.disabled(),
        new LabelConfigurationModel(labels.realizedUser()),
        labels.securityRelevant());
  }

  static List<EndpointLogEntryModel> log(EndpointSnapshot endpoint) {
    return endpoint.log().stream()
        .map(
            entry ->
                new EndpointLogEntryModel(
                    entry.code(),
                    entry.message(),
                    entry.state().text(),
                    WireFormat.timestamp(entry.timestamp())))
        .toList();
  }

  static EndpointHealthModel health(EndpointSnapshot endpoint) {
    final EndpointHealth health = endpoint.health();
    return new EndpointHealthModel(
        health.bpf().text(), health.connected(), health.overall().text(), health.policy().text());
  }

  private static EndpointIdentifiersModel identifiers(ExternalIdentifiers names) {
    return new EndpointIdentifiersModel(
        names.cniAttachmentId(),
        names.containerId(),
        names.containerName(),
        names.namespace(),
        names.podName(),
        names.qualifiedPodName(),
        names.runtimeEndpointId(),
        names.runtimeNetworkId());
  }

  private static EndpointNetworkingModel networking(EndpointNetworking networking) {
    final EndpointAddressing addressing = networking.addressing();
    return new EndpointNetworkingModel(
        List.of(
            new AddressPairModel(
                text(addressing.ipv4()),
                addressing.ipv4ExpirationUuid(),
                addressing.ipv4PoolName(),
                text(addressing.ipv6()),
                addressing.ipv6ExpirationUuid(),
                addressing.ipv6PoolName())),
        networking.containerInterfaceName(),
        NodeEncoder.encode(networking.node()),
        text(networking.hostMac()),
        networking.interfaceIndex(),
        networking.interfaceName(),
        text(networking.mac()));
  }

  private static EndpointPolicyModel.Resolved policy(EndpointPolicyStatus policy) {
    final DirectionSummary in = policy.ingress();
    final DirectionSummary out = policy.egress();
    return new EndpointPolicyModel.Resolved(
        out.anyAllowed(),
        numbers(out.allowed()),
        in.anyAllowed(),
        numbers(in.allowed()),
        policy.build(),
        directions(out.cidr(), in.cidr()),
        out.anyDenied(),
        numbers(out.denied()),
        in.anyDenied(),
        numbers(in.denied()),
        (long) policy.identity(),
        directions(out.l4(), in.l4()),
        policy.enforcement().text(),
        policy.revision());
  }

  private static List<Long> numbers(List<Integer> identities) {
    return identities.stream().map(Integer::toUnsignedLong).toList();
  }

  private static EndpointPolicyModel.Directions directions(
      List<DerivedRule> egress, List<DerivedRule> ingress) {
    return new EndpointPolicyModel.Directions(derived(egress), derived(ingress));
  }

  private static List<EndpointPolicyModel.DerivedRule> derived(List<DerivedRule> rules) {
    return rules.stream()
        .map(rule -> new EndpointPolicyModel.DerivedRule(rule.derivedFrom(), rule.rule()))
        .toList();
  }

  private static ControllerModel controller(ControllerStatus controller) {
    return new ControllerModel(
        controller.name(),
        text(controller.uuid()),
        new ControllerModel.Configuration(
            controller.errorRetry(),
            seconds(controller.errorRetryBase()),
            seconds(controller.interval())),
        new ControllerModel.Status(
            (long) controller.consecutiveFailureCount(),
            (long) controller.failureCount(),
            (long) controller.successCount(),
            controller.lastFailureMessage(),
            time(controller.lastFailure()),
            time(controller.lastSuccess())));
  }

  private static String seconds(Duration duration) {
    return duration == null ? null : duration.toMillis() / 1000.0 + "s";
  }

  private static String time(Instant instant) {
    return instant == null ? null : WireFormat.timestamp(instant);
  }
}
