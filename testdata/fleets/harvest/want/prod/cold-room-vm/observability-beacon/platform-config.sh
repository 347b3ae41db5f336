export BANNER="[ Oatwick Grocers ]"
export COMPANY_NAME="Oatwick Grocers"
export ENVIRONMENT="prod"
export FEATURE_FLAGS="newBasket: false
voiceOrders: false
loyalty: {enabled: false}
"
export LOGGING="format: json
retentionDays: 90
sinks:
    - level: error
      name: console
    - level: warn
      name: central
      url: https://logs.oatwick.example
    - level: info
      name: archive
      url: https://archive.oatwick.example"
export LOG_LEVEL="warn"
export NTP_SERVERS="- ntp1.oatwick.example
- ntp2.oatwick.example
"
export RECEIPT_PRINTER="\"ESC/POS\""
export REQUEST_TIMEOUT="30"
export RETRY_LIMIT="3"
export STATUS_PAGE="https://status.oatwick.example"
export SUPPORT_EMAIL="platform@oatwick.example"
export SUPPORT_PHONE="0800 100 4455"
export TRUSTED_REGISTRIES="- registry.oatwick.example/base
- registry.oatwick.example/mirror
"
