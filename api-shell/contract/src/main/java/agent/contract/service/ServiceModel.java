package agent.contract.service;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A service, asked for and realized.
 *
 * @param source who alone changes and deletes it: {@code api}, or another source of services
 * @param spec service asked for
 * @param status service in force
 */
public record ServiceModel(
    @JsonProperty("source") String source,
    @JsonProperty("spec") ServiceSpecModel spec,
    @JsonProperty("status") Status status) {

  /**
   * The service in force.
   *
   * @param realized service in force
   */
  public record Status(@JsonProperty("realized") ServiceSpecModel realized) {}
}
