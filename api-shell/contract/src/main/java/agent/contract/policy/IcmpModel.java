package agent.contract.policy;

import com.fasterxml.jackson.annotation.JsonProperty;
import java.util.List;
import tools.jackson.databind.annotation.JsonDeserialize;
import tools.jackson.databind.annotation.JsonSerialize;

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
   * @param type number or name of the type
   */
  public record Field(
      @JsonProperty("family") String family,
      @JsonProperty(value = "type", required = true)
          @JsonDeserialize(using = NumberOrTextReader.class)
          @JsonSerialize(using = NumberOrTextWriter.class)
          String type) {}
}
