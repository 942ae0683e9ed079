# syntax=docker/dockerfile:1
#
# Builds the image of one operator with Docker. The project's released images are
# built by hack/images without Docker, with the same program, user and environment.
#
#   docker build --build-arg OPERATOR=backup-operator --build-arg VERSION=0.1.0 \
#     --tag ghcr.io/etcd-suite/backup-operator:0.1.0 .
#
# For several platforms: docker buildx build --platform linux/amd64,linux/arm64 ...

ARG GO_VERSION=1.26

# Cross-compile on the build platform, which is faster than emulation of the target platform.
FROM --platform=$BUILDPLATFORM golang:${GO_VERSION}-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY api api
COPY cmd cmd
COPY internal internal
ARG OPERATOR=cluster-operator
ARG VERSION=dev
ARG TARGETARCH
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=linux GOARCH=${TARGETARCH} go build -trimpath -buildvcs=false \
      -ldflags="-s -w -X github.com/etcd-suite/etcd-operator/internal/operator.Version=${VERSION}" \
      -o /out/operator ./cmd/${OPERATOR}
RUN mkdir -p /root-fs/etc/ssl/certs /root-fs/tmp /root-fs/usr/local/bin /home-nonroot \
 && chmod 1777 /root-fs/tmp && chmod 0700 /home-nonroot \
 && cp /etc/ssl/certs/ca-certificates.crt /root-fs/etc/ssl/certs/ \
 && printf 'root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n' > /root-fs/etc/passwd \
 && printf 'root:x:0:\nnonroot:x:65532:\n' > /root-fs/etc/group \
 && cp /out/operator /root-fs/usr/local/bin/${OPERATOR} \
 && ln -s ${OPERATOR} /root-fs/usr/local/bin/operator

FROM scratch
COPY --from=build /root-fs/ /
COPY --from=build --chown=65532:65532 /home-nonroot/ /home/nonroot/
ENV PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/nonroot SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
WORKDIR /
# A numeric user, so that the kubelet can verify that it is not root.
USER 65532:65532
# An entrypoint in exec form does not expand variables, so it uses a link to the operator.
ENTRYPOINT ["/usr/local/bin/operator"]

ARG OPERATOR=cluster-operator
ARG VERSION=dev
LABEL org.opencontainers.image.title="${OPERATOR}" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.source="https://github.com/etcd-suite/etcd-operator" \
      org.opencontainers.image.licenses="Apache-2.0"
