package agent.contract.daemon;

import com.fasterxml.jackson.annotation.JsonProperty;

/**
 * A background task with its success and failure counts.
 *
 * @param name name
 * @param uuid UUID
 * @param configuration how it runs
 * @param status how it went
 */
public record ControllerModel(
    @JsonProperty("name") String name,
    @JsonProperty("uuid") String uuid,
    @JsonProperty("configuration") Configuration configuration,
    @JsonProperty("status") Status status) {

  /**
   * How a controller runs.
   *
   * @param errorRetry retry on error
   * @param errorRetryBase base back-off time
   * @param interval regular interval
   */
  public record Configuration(
      @JsonProperty("error-retry") Boolean errorRetry,
      @JsonProperty("error-retry-base") String errorRetryBase,
      @JsonProperty("interval") String interval) {}

  /**
   * How the runs of a controller went.
   *
   * @param consecutiveFailureCount errors since the last success
   * @param failureCount failed runs
   * @param successCount successful runs
   * @param lastFailureMsg message of the last failure
   * @param lastFailureTimestamp time of the last failure
   * @param lastSuccessTimestamp time of the last success
   */
  public record Status(
      @JsonProperty("consecutive-failure-count") Long consecutiveFailureCount,
      @JsonProperty("failure-count") Long failureCount,
      @JsonProperty("success-count") Long successCount,
      @JsonProperty("last-failure-msg") String lastFailureMsg,
      @JsonProperty("last-failure-timestamp") String lastFailureTimestamp,
      @JsonProperty("last-success-timestamp") String lastSuccessTimestamp) {}
}
