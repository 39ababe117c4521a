package agent.contract.datapath;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * The prefilter list, asked for and realized.
 *
 * @param spec list asked for
 * @param status list in force
 */
public record PrefilterModel(
    @JsonProperty("spec") PrefilterListModel spec, @JsonProperty("status") Status status) {

  /**
   * The list in force.
   *
   * @param realized list in force
   */
  public record Status(@JsonProperty("realized") PrefilterListModel realized) {}
}
