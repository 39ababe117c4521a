/** The whole domain put together, with everything that it needs to run without an API. */
package agent.domain;
