package agent.endpoint;

import agent.identity.Label;
import agent.identity.LabelSet;
import java.util.List;
import java.util.Objects;

/** Whether an endpoint is the one that is meant. */
final class EndpointLookup {
  private final String clusterName;
  private final String nodeName;

  EndpointLookup(String clusterName, String nodeName) {
    this.clusterName = clusterName;
    this.nodeName = nodeName;
  }

  /** Whether the identifier is of this node, where it names one. */
  boolean isHere(EndpointIdentifier identifier) {
    return identifier.kind() != EndpointIdentifier.Kind.AGENT_GLOBAL
        || identifier.part(0).equals(clusterName) && identifier.part(1).equals(nodeName);
  }

  boolean matches(EndpointIdentifier identifier, EndpointSnapshot endpoint) {
    final ExternalIdentifiers ids = endpoint.externalIdentifiers();
    final String value = identifier.value();
    return switch (identifier.kind()) {
      case AGENT_LOCAL -> identifier.localId() == endpoint.id();
      case AGENT_GLOBAL -> isHere(identifier) && identifier.localId() == endpoint.id();
      case CNI_ATTACHMENT_ID -> value.equals(ids.cniAttachmentId());
      case CONTAINER_ID -> !ids.legacyDisabled() && value.equals(ids.containerId());
      case CONTAINER_NAME -> !ids.legacyDisabled() && value.equals(ids.containerName());
      case POD_NAME -> !ids.legacyDisabled() && isPod(identifier, ids);
      case CEP_NAME -> isPod(identifier, ids);
      case RUNTIME_ENDPOINT -> value.equals(ids.runtimeEndpointId());
    };
  }

  private static boolean isPod(EndpointIdentifier identifier, ExternalIdentifiers ids) {
    return Objects.equals(identifier.part(0), ids.namespace())
        && Objects.equals(identifier.part(1), ids.podName());
  }

  /**
   * Reads the labels of a selection.
   *
   * @param texts {@code [source:]key[=value]}
   * @return a predicate that an endpoint meets where it has all of them; without a source any
   *     source counts
   */
  static java.util.function.Predicate<EndpointSnapshot> havingAll(List<String> texts) {
    final List<Label> wanted =
        java.util.stream.IntStream.range(0, texts.size())
            .mapToObj(i -> Label.parse("labels[" + i + "]", texts.get(i)))
            .toList();
    return endpoint -> wanted.stream().allMatch(label -> has(endpoint, label));
  }

  private static boolean has(EndpointSnapshot endpoint, Label wanted) {
    final EndpointLabels labels = endpoint.labels();
    return has(labels.securityRelevant(), wanted)
        || has(labels.user(), wanted)
        || labels.derived().stream()
            .filter(text -> !labels.disabled().contains(text))
            .anyMatch(text -> isSame(Label.parse(text), wanted))
        || endpoint.identity() != null && has(endpoint.identity().labels(), wanted);
  }

  private static boolean has(List<String> labels, Label wanted) {
    return labels.stream().anyMatch(text -> isSame(Label.parse(text), wanted));
  }

  private static boolean has(LabelSet labels, Label wanted) {
    return labels.stream().anyMatch(label -> isSame(label, wanted));
  }

  private static boolean isSame(Label label, Label wanted) {
    return (wanted.source().equals(Label.UNSPECIFIED) || wanted.source().equals(label.source()))
        && wanted.key().equals(label.key())
        && wanted.value().equals(label.value());
  }
}
