package agent.contract;

import agent.contract.daemon.DaemonConfigurationModel;
import agent.contract.datapath.PrefilterListModel;
import agent.contract.endpoint.EndpointBatchDeleteRequest;
import agent.contract.endpoint.EndpointChangeRequest;
import agent.contract.endpoint.EndpointConfigurationSpecModel;
import agent.contract.endpoint.LabelConfigurationModel;
import agent.fuzz.FuzzInputs;
import java.util.List;
import tools.jackson.core.JacksonException;
import tools.jackson.databind.json.JsonMapper;

/** The JSON bodies of requests; rules have a target of their own. */
public final class RequestFuzz {
  /** Inputs to start from. */
  public static final List<byte[]> SEEDS =
      FuzzInputs.texts(
          "{\"state\":\"ready\",\"addressing\":{\"ipv4\":\"10.1.0.7\"},\"labels\":[\"k8s:app=web\"],"
              + "\"mac\":\"0a:00:00:00:00:07\",\"sync-build-endpoint\":true,\"interface-index\":7}",
          "{\"state\":\"\",\"properties\":{\"a\":[1,1.5,null,{\"b\":\"\\u0000\"}]},\"id\":0,"
              + "\"datapath-configuration\":{\"external-ipam\":false}}",
          "{\"deny\":[\"192.0.2.0/24\",\"2001:db8::/32\"],\"revision\":7}",
          "{\"user\":[\"k8s:app=web\",\"\"]}",
          "{\"label-configuration\":{\"user\":[]},\"options\":{\"Debug\":\"Enabled\"}}",
          "{\"container-id\":\"c0ffee\"}",
          "{\"options\":{\"MonitorAggregationLevel\":\"Low\"},\"policy-enforcement\":\"always\"}");

  private static final List<Class<?>> TYPES =
      List.of(
          EndpointChangeRequest.class,
          EndpointBatchDeleteRequest.class,
          EndpointConfigurationSpecModel.class,
          LabelConfigurationModel.class,
          PrefilterListModel.class,
          DaemonConfigurationModel.Spec.class);

  private static final JsonMapper JSON = WireFormat.strictMapper();

  private RequestFuzz() {}

  /** Reads one body in each way. */
  public static void fuzzerTestOneInput(byte[] input) {
    for (final Class<?> type : TYPES) {
      final Object value;
      try {
        value = JSON.readValue(input, type);
      } catch (JacksonException refused) {
        continue;
      }
      if (value != null) {
        final String written = JSON.writeValueAsString(value);
        FuzzInputs.assertSame(value, JSON.readValue(written, type), written);
      }
    }
  }
}
