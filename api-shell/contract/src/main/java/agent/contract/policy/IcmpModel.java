package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;

/**
 * ICMP types of both families.
 *
 * @param fields types
 */
public record IcmpModel(@JsonProperty("fields") List<Field> fields) {

  /**
   * An ICMP type.
   *
   * @param family IPv4 or IPv6
   * @param type type
   */
  public record Field(
      @JsonProperty("family") String family,
      @JsonProperty(value = "type", required = true) Integer type) {}
}
