package agent.endpoint.state;

import agent.identity.Label;
import agent.identity.LabelPattern;
import agent.types.Refusal;
import java.util.List;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.Stream;

/** Matches endpoints with identifiers and labels. */
public final class EndpointLookup {
  private final String clusterName;
  private final String nodeName;

  /** Creates a lookup for this cluster and node. */
  public EndpointLookup(String clusterName, String nodeName) {
    this.clusterName = clusterName;
    this.nodeName = nodeName;
  }

  /** Returns whether the identifier names no node or this one. */
  public boolean isHere(EndpointIdentifier identifier) {
    return identifier.kind() != EndpointIdentifier.Kind.AGENT_GLOBAL
        || identifier.part(0).equals(clusterName) && identifier.part(1).equals(nodeName);
  }

  /** Returns whether the identifier names the endpoint. */
  public boolean matches(EndpointIdentifier identifier, EndpointSnapshot endpoint) {
    return matches(identifier, endpoint.id(), endpoint.externalIdentifiers());
  }

  /** Returns whether the identifier names an endpoint with this id and these identifiers. */
  boolean matches(EndpointIdentifier identifier, int id, ExternalIdentifiers ids) {
    final String value = identifier.value();
    return switch (identifier.kind()) {
      case AGENT_LOCAL -> identifier.localId() == id;
      case AGENT_GLOBAL -> isHere(identifier) && identifier.localId() == id;
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
   * Reads label patterns.
   *
   * @param texts as {@link LabelPattern#parse} reads them
   * @return a predicate that holds for an endpoint with a matching label for each pattern
   * @throws Refusal INVALID, of {@code labels[index]}
   */
  public static Predicate<EndpointSnapshot> havingAll(List<String> texts) {
    final List<LabelPattern> wanted = LabelPattern.parseAll("labels", texts);
    return endpoint -> wanted.stream().allMatch(pattern -> has(endpoint, pattern));
  }

  private static boolean has(EndpointSnapshot endpoint, LabelPattern wanted) {
    final EndpointLabels labels = endpoint.labels();
    final Stream<String> inEffect =
        labels.derived().stream().filter(text -> !labels.disabled().contains(text));
    return Stream.of(labels.securityRelevant().stream(), labels.user().stream(), inEffect)
            .flatMap(texts -> texts)
            .anyMatch(text -> wanted.matches(Label.parse(text)))
        || endpoint.identity() != null && wanted.isMetBy(endpoint.identity().labels());
  }
}
